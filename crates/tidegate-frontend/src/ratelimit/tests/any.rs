//! Any request, with keys that the rules know among it.

use proptest::prelude::*;

use tidegate_wire::envoy::{LimitOverride, RateLimitRequest, RequestDescriptor, TimeUnit};

/// Texts are leaked: a request borrows them.
fn leaked(text: String) -> &'static str {
    text.leak()
}

pub(super) fn request() -> impl Strategy<Value = RateLimitRequest<'static>> {
    let domain = prop_oneof![8 => Just("mesh".to_owned()), 1 => Just(String::new()), 1 => any::<String>()];
    let hits = prop_oneof![3 => Just(0), 3 => 1..5_u64, 1 => any::<u64>()];
    (domain, prop::collection::vec(asked(), 0..5), hits).prop_map(|(domain, descriptors, hits)| {
        RateLimitRequest { domain: leaked(domain), descriptors: descriptors.into(), hits }
    })
}

fn asked() -> impl Strategy<Value = RequestDescriptor<'static>> {
    let key = prop::sample::select(vec![
        "user", "path", "shadow", "free", "banned", "quota", "client", "soft", "queue", "worker", "odd",
        "none",
    ]);
    let value = prop_oneof![5 => prop::sample::select(vec!["a", "one", "two"]).prop_map(str::to_owned), 1 => ".{0,3000}"];
    let entries = prop::collection::vec((key, value.prop_map(leaked)), 0..3);
    let hits = prop::option::of(prop_oneof![3 => 0..4_u64, 1 => any::<u64>()]);
    (entries, prop::option::weighted(0.1, limit()), hits, prop::bool::weighted(0.2)).prop_map(
        |(entries, limit, hits, negative)| RequestDescriptor {
            entries: entries.into(),
            limit,
            hits,
            negative,
        },
    )
}

fn limit() -> impl Strategy<Value = LimitOverride> {
    (any::<u32>(), -1..9_i32)
        .prop_map(|(amount, unit)| LimitOverride { amount, unit: TimeUnit::from_number(unit) })
}
