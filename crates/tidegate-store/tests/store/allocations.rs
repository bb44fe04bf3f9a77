//! Decisions of the word-sized algorithms allocate nothing once their counters are there.

use std::time::Duration;

use tidegate_core::{Key, Limit, Plan, Rate, Timestamp, Window};
use tidegate_store::Reference;

const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

fn word_sized() -> Vec<Limit> {
    let second = Duration::from_secs(1);
    let rate = Rate::new(1_000, second).unwrap();
    vec![
        Limit::gcra(rate, 100).unwrap(),
        Limit::token_bucket(100, rate).unwrap(),
        Limit::leaky_bucket(100, rate).unwrap(),
        Limit::leaky_bucket_shaping(100, rate).unwrap(),
        Limit::fixed_window(100, Window::Aligned(second)).unwrap(),
        Limit::fixed_window(100, Window::FirstHit(second)).unwrap(),
        Limit::sliding_window(100, second).unwrap(),
    ]
}

fn allocations(store: &Reference, limits: &[Limit], now_us: impl Fn(u64) -> u64) -> u64 {
    let decide = |n: u64| {
        let mut plan = Plan::new();
        for (index, limit) in limits.iter().enumerate() {
            let identity = limit.identity().map(|byte| byte ^ u8::try_from(index).unwrap());
            let key = Key {
                home: &[b"api", b"org-0123456789"],
                own: &[b"orders-write", &identity, b"user-012345"],
            };
            plan.charge(key, *limit, 1).unwrap();
        }
        store.decide_now(&plan, NOW.plus_us(now_us(n))).unwrap();
    };
    decide(0);
    allocation_counter::measure(|| (1..1_000).for_each(decide)).count_total
}

#[test]
fn admissions_and_refusals_of_one_limit_allocate_nothing() {
    for limit in word_sized() {
        let store = Reference::new();
        assert_eq!(allocations(&store, &[limit], |n| n * 700), 0, "{limit:?}");
    }
}

#[test]
fn a_plan_of_four_limits_allocates_nothing() {
    let store = Reference::new();
    assert_eq!(allocations(&store, &word_sized()[..4], |n| n * 700), 0);
}
