//! The suite that every store, and every stack of layers around one, must pass.
//!
//! ```no_run
//! use tidegate_store::{Reference, conformance, history::Claims};
//! conformance::run(Reference::new, Claims::default());
//! ```
//!
//! Each case gets a store of its own. The claims are the store's word on how far it may stray from core; only a store that
//! claims to be exact is compared to the digit. A failure panics with the name of the case and, for random ones, the seed.

mod plans;
mod short_ways;
mod idempotency;
mod paying;
mod threads;
mod random;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::Thread;
use std::time::Duration;

use tidegate_core::{Key, Limit, Pay, Plan, Rate, Ticket, Timestamp, Window};

use crate::contract::{Answer, Store};
use crate::history::Claims;

/// Somewhere in 2026.
const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);
const SECOND_US: u64 = 1_000_000;
const MINUTE: Duration = Duration::from_secs(60);

/// Runs every case on a store of its own.
///
/// # Panics
/// If the store does not conform; the message says how.
pub fn run<S: Store>(make: impl Fn() -> S, claims: Claims) {
    let exact = claims == Claims::default();
    for (name, case) in plans::cases::<S>(exact)
        .into_iter()
        .chain(short_ways::cases(exact))
        .chain(idempotency::cases())
        .chain(paying::cases(exact))
        .chain(threads::cases(exact))
    {
        let case = std::panic::AssertUnwindSafe(|| case(&make()));
        assert!(std::panic::catch_unwind(case).is_ok(), "the store does not conform: {name}");
    }
    random::histories(&make, claims);
    random::instants(&make, claims);
}

type Case<S> = (&'static str, fn(&S));

/// Waits for a future on this thread.
fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn decide(store: &impl Store, plan: &Plan, now: Timestamp) -> Answer {
    wait(store.decide(plan, now)).expect("the store decides")
}

fn read(store: &impl Store, plan: &Plan, now: Timestamp) -> Answer {
    wait(store.read(plan, now)).expect("the store reads")
}

fn remaining(store: &impl Store, plan: &Plan, now: Timestamp) -> u64 {
    read(store, plan, now).verdicts[0].remaining
}

/// A plan with one charge.
fn single(name: &str, limit: Limit, cost: u64) -> Plan {
    together(&[(name, limit, cost)])
}

/// A plan with one group.
fn together(charges: &[(&str, Limit, u64)]) -> Plan {
    let mut plan = Plan::new();
    for (name, limit, cost) in charges {
        plan.charge(Key { home: &[name.as_bytes()], own: &[b"conformance"] }, *limit, *cost)
            .expect("a small plan");
    }
    plan
}

/// Adds a charge that pays in its own way to the plan's last group.
fn and(mut plan: Plan, name: &str, (limit, cost): (Limit, u64), pay: Pay) -> Plan {
    plan.charge_when(Key { home: &[name.as_bytes()], own: &[b"conformance"] }, limit, cost, pay)
        .expect("a small plan");
    plan
}

/// Begins another group.
fn then(mut plan: Plan) -> Plan {
    plan.next_group();
    plan
}

fn with_ticket(mut plan: Plan, ticket: u128) -> Plan {
    plan.set_ticket(Ticket(ticket));
    plan
}

fn rate(amount: u64, per: Duration) -> Rate {
    Rate::new(amount, per).expect("an ordinary rate")
}

fn slots(amount: u64) -> Limit {
    Limit::concurrency(amount, MINUTE).expect("an ordinary limit")
}

/// A counter that closes with its first charge, for ten seconds.
fn gate() -> Limit {
    let window = Window::FirstHit(Duration::from_secs(10));
    Limit::fixed_window(1, window).expect("an ordinary limit")
}

/// A limit of that amount for each algorithm but concurrency; the windows are a minute.
fn every_rate_limit(amount: u64) -> Vec<(&'static str, Limit)> {
    let limits = [
        ("gcra", Limit::gcra(rate(amount, MINUTE), amount)),
        ("token_bucket", Limit::token_bucket(amount, rate(amount, MINUTE))),
        ("leaky_bucket", Limit::leaky_bucket(amount, rate(amount, MINUTE))),
        ("leaky_bucket shaping", Limit::leaky_bucket_shaping(amount, rate(amount, MINUTE))),
        ("fixed_window", Limit::fixed_window(amount, Window::Aligned(MINUTE))),
        ("fixed_window from the first hit", Limit::fixed_window(amount, Window::FirstHit(MINUTE))),
        ("sliding_window", Limit::sliding_window(amount, MINUTE)),
        ("sliding_window in parts", Limit::sliding_window_in_parts(amount, MINUTE, 6)),
        ("sliding_log", Limit::sliding_log(amount, MINUTE)),
        ("sliding_log with precision", Limit::sliding_log_with_precision(amount, MINUTE, 10)),
    ];
    limits.into_iter().map(|(name, limit)| (name, limit.expect("an ordinary limit"))).collect()
}

fn every_limit(amount: u64) -> Vec<(&'static str, Limit)> {
    let mut limits = every_rate_limit(amount);
    limits.push(("concurrency", slots(amount)));
    limits
}
