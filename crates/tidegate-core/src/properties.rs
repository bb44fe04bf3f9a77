//! Every algorithm against a naive exact oracle, on random limits and histories.
//!
//! An oracle keeps the whole history of what was admitted and counts it again from the definition for each question.

mod general;
mod meter;
mod windows;
mod slots;
mod changes;
mod aftermath;
mod constructors;

use std::time::Duration;

use proptest::prelude::*;

use crate::{Limit, Rate, Timestamp, Window};

/// Somewhere in 2026, off every boundary.
pub(crate) const START_US: u64 = 1_790_000_000_123_457;

/// What happens next in a history: some time passes, then somebody asks for `cost`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) after_us: u64,
    pub(crate) cost: u64,
}

/// What was admitted so far.
#[derive(Clone, Debug, Default)]
struct Admitted(Vec<(u64, u64)>);

impl Admitted {
    fn push(&mut self, now: Timestamp, cost: u64) {
        self.0.push((now.as_micros(), cost));
    }

    /// Units admitted in `from_us..to_us`.
    fn between(&self, from_us: u64, to_us: u64) -> u64 {
        self.0.iter().filter(|(at_us, _)| (from_us..to_us).contains(at_us)).map(|(_, cost)| cost).sum()
    }

    /// The most units that were admitted within any stretch of that length.
    fn worst(&self, length_us: u64) -> u64 {
        self.0.iter().map(|(at_us, _)| self.between(*at_us, at_us + length_us)).max().unwrap_or(0)
    }
}

fn amounts() -> impl Strategy<Value = u64> {
    prop_oneof![1..12_u64, 1..2_000_u64, Just(333_333), Just(1_000_000), 999_999_000..1_000_000_007_u64]
}

fn windows() -> impl Strategy<Value = Duration> {
    let month = 31 * 86_400 * 1_000_000_u64;
    let us = prop_oneof![
        Just(1_000_000_u64),
        Just(60_000_000),
        Just(86_400_000_000),
        Just(month),
        1..5_000_u64,
        1..100_000_000_u64,
    ];
    us.prop_map(Duration::from_micros)
}

/// Rates with bursts that drain in a sane time.
fn rates() -> impl Strategy<Value = (Rate, u64)> {
    (amounts(), windows(), amounts()).prop_filter_map("drains within ten years", |(amount, per, burst)| {
        let rate = Rate::new(amount, per).ok()?;
        Limit::gcra(rate, burst).ok().map(|_| (rate, burst))
    })
}

/// Asks whose gaps and costs have the size of the limit's own, where the interesting things happen.
fn asks(limit: Limit) -> impl Strategy<Value = Vec<Ask>> {
    let window_us = limit.window_us().or(limit.term_us()).unwrap_or(1_000_000);
    let capacity = limit.capacity();
    let gap = prop_oneof![
        3 => Just(0),
        3 => 0..=(window_us / capacity.max(1)).max(2) * 2,
        3 => 0..=window_us / 3 + 1,
        1 => 0..=window_us * 3,
    ];
    let cost = prop_oneof![
        4 => Just(1_u64),
        3 => 1..=(capacity / 3).max(1),
        1 => 0..=capacity,
        1 => Just(capacity),
    ];
    prop::collection::vec((gap, cost).prop_map(|(after_us, cost)| Ask { after_us, cost }), 1..60)
}

/// Any limit but concurrency, with asks for it.
fn rate_limits() -> impl Strategy<Value = Limit> {
    prop_oneof![
        rates().prop_map(|(rate, burst)| Limit::gcra(rate, burst).unwrap()),
        rates().prop_map(|(rate, queue)| Limit::leaky_bucket_shaping(queue, rate).unwrap()),
        (amounts(), windows()).prop_map(|(n, w)| Limit::fixed_window(n, Window::Aligned(w)).unwrap()),
        (amounts(), windows()).prop_map(|(n, w)| Limit::fixed_window(n, Window::FirstHit(w)).unwrap()),
        (amounts(), windows()).prop_map(|(n, w)| Limit::sliding_window(n, w).unwrap()),
        (amounts(), windows(), 1..=12_u32).prop_map(|(n, w, parts)| Limit::sliding_window_in_parts(
            n,
            w * parts,
            parts
        )
        .unwrap()),
        (1..2_000_u64, windows()).prop_map(|(n, w)| Limit::sliding_log(n, w).unwrap()),
        (amounts(), windows(), 1..60_u64)
            .prop_map(|(n, w, k)| Limit::sliding_log_with_precision(n, w, k).unwrap()),
    ]
}

pub(crate) fn limits() -> impl Strategy<Value = Limit> {
    let slots = (amounts(), windows()).prop_map(|(n, term)| Limit::concurrency(n, term).unwrap());
    prop_oneof![8 => rate_limits(), 1 => slots]
}

pub(crate) fn with_asks(limits: impl Strategy<Value = Limit>) -> impl Strategy<Value = (Limit, Vec<Ask>)> {
    limits.prop_flat_map(|limit| (Just(limit), asks(limit)))
}
