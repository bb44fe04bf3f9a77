//! Random histories.

use std::time::Duration;

use proptest::prelude::*;
use tidegate_core::{Bounds, Idempotency, Key, Limit, Pay, Plan, Rate, Ticket, Timestamp, Window};

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) pause_us: u64,
    pub(crate) what: What,
    charges: Vec<Asked>,
    /// Whether it has a name, and which.
    name: Option<u8>,
    /// Whose ticket it has: its own, or an earlier one's.
    ticket_before: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    Decide,
    Read,
    Refund {
        before_us: u64,
    },
    Release,
    Renew,
    Raise,
    Reset,
    Reserve {
        term_us: u64,
        lent: bool,
    },
    /// Settles an earlier reservation at half so many times its costs, or at nothing.
    Settle {
        which: usize,
        times: Option<u64>,
    },
}

#[derive(Clone, Debug)]
struct Asked {
    kind: usize,
    key: u8,
    cost: u64,
    numbers: usize,
    pay: u8,
    apart: bool,
}

/// How many histories are tried, unless `PROPTEST_CASES` says something else.
pub(crate) fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 2_000, ..ProptestConfig::default() }
}

/// How many kinds of limits there are.
const KINDS: usize = 14;

/// Every kind of limit with four sets of numbers; products of the last do not fit into 53 bits.
pub(crate) fn limit(kind: usize, numbers: usize) -> Limit {
    let amount = [5, 9, 40_000, 999_999_999_999_937][numbers];
    let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3_600));
    let rate = |per| Rate::new([3, 7, 999, 999_999_999_999_989][numbers], per).unwrap();
    let month = Duration::from_secs(31 * 86_400);
    match kind {
        0 => Limit::gcra(rate(second), amount),
        1 => Limit::token_bucket(
            amount.min(2_000_000),
            Rate::new([3, 7, 1_000, 999_983][numbers], hour).unwrap(),
        ),
        2 => Limit::leaky_bucket_shaping(amount, rate(second)),
        3 => Limit::fixed_window(amount, Window::Aligned(hour)),
        4 => Limit::fixed_window(amount, Window::FirstHit(second)),
        5 => Limit::sliding_window(amount, hour),
        6 => Limit::sliding_window_in_parts(amount, second, 4),
        7 => Limit::sliding_window(amount, second),
        8 => Limit::sliding_log(amount.min(50), Duration::from_secs(10)),
        9 => Limit::sliding_log_with_precision(amount.min(1_000), second, 4),
        10 => Limit::concurrency(amount, Duration::from_secs(20)),
        11 => {
            Limit::leaky_bucket(amount, Rate::new([2, 5, 777, 999_999_999_999_937][numbers], month).unwrap())
        }
        12 => Limit::fixed_window(amount, Window::FirstHit(Duration::from_secs(10))),
        _ => Limit::fixed_window(amount, Window::Calendar(calendar())),
    }
    .unwrap()
}

fn calendar() -> Bounds {
    let at = |hours: u64| Timestamp::from_micros(1_789_999_200_000_000 + hours * 3_600_000_000);
    Bounds { start: at(0), end: at(2), next_end: at(50) }
}

/// Everything that can happen, to that many entities.
pub(crate) fn events(keys: u8) -> impl Strategy<Value = Vec<Event>> {
    let asked = prop::collection::vec(asked(keys), 1..6);
    prop::collection::vec(event(asked.boxed(), name().boxed()), 1..80)
}

/// Mostly the checks that most checks are, to that many entities.
pub(crate) fn common_events(keys: u8) -> impl Strategy<Value = Vec<Event>> {
    let kind = prop::sample::select(vec![0_usize, 1, 2, 3, 4, 5, 7, 11, 12]);
    let numbers = prop_oneof![4 => Just(0_usize), 2 => Just(1_usize), 1 => Just(2_usize)];
    let charge = (kind, 0..keys, prop_oneof![9 => 1..3_u64, 1 => 0..20_u64], numbers)
        .prop_map(|(kind, key, cost, numbers)| Asked { kind, key, cost, numbers, pay: 0, apart: false });
    let asked = prop_oneof![
        12 => prop::collection::vec(charge, 1..5),
        1 => prop::collection::vec(asked(keys), 1..5),
    ];
    prop::collection::vec(event(asked.boxed(), Just(None).boxed()), 1..150)
}

fn event(asked: BoxedStrategy<Vec<Asked>>, name: BoxedStrategy<Option<u8>>) -> impl Strategy<Value = Event> {
    let pause = prop_oneof![
        8 => Just(0),
        8 => 0..3_000_000_u64,
        4 => 0..15_000_000_u64,
        2 => 0..7_200_000_000_u64,
        1 => 0..40_000_000_000_u64,
    ];
    let what = prop_oneof![
        24 => Just(What::Decide),
        3 => Just(What::Read),
        3 => prop_oneof![Just(0), 0..4_000_000_u64, 0..7_200_000_000_u64].prop_map(|before_us| What::Refund { before_us }),
        2 => Just(What::Release),
        2 => Just(What::Renew),
        2 => Just(What::Raise),
        1 => Just(What::Reset),
        6 => (1..8_000_000_u64, any::<bool>()).prop_map(|(term_us, lent)| What::Reserve { term_us, lent }),
        5 => (0..64_usize, prop::option::of(0..6_u64)).prop_map(|(which, times)| What::Settle { which, times }),
    ];
    let event = (pause, what, asked, name, prop_oneof![6 => Just(0), 1 => 1..4_u64]);
    event.prop_map(|(pause_us, what, charges, name, ticket_before)| Event {
        pause_us,
        what,
        charges,
        name,
        ticket_before,
    })
}

fn name() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![9 => Just(None), 1 => (0..3_u8).prop_map(Some)]
}

fn asked(keys: u8) -> impl Strategy<Value = Asked> {
    let numbers = prop_oneof![6 => Just(0_usize), 3 => Just(1_usize), 1 => Just(2_usize), 1 => Just(3_usize)];
    let cost = prop_oneof![
        12 => 0..4_u64,
        1 => 0..50_000_u64,
        1 => 0..1_100_000_000_000_000_u64,
    ];
    let pay =
        prop_oneof![14 => Just(0_u8), 2 => Just(1_u8), 1 => Just(2_u8), 2 => Just(3_u8), 1 => Just(4_u8)];
    (0..KINDS, 0..keys, cost, numbers, pay, prop::bool::weighted(0.15))
        .prop_map(|(kind, key, cost, numbers, pay, apart)| Asked { kind, key, cost, numbers, pay, apart })
}

/// The plan of an event.
pub(crate) fn plan(event: &Event, number: u64) -> Plan {
    let mut plan = Plan::new();
    plan.set_ticket(Ticket(u128::from(number.saturating_sub(event.ticket_before)) << 70 | 5));
    for asked in &event.charges {
        if asked.apart {
            plan.next_group();
        }
        let pay = match asked.pay {
            0 => Pay::IfAdmitted,
            1 => Pay::Always,
            2 => Pay::Never,
            of => Pay::IfRefused { of: of - 2 },
        };
        let kind = u8::try_from(asked.kind).unwrap();
        let key = Key { home: &[&[asked.key]], own: &[&[kind], b"bob"] };
        // What cannot be planned is left out.
        plan.charge_when(key, limit(asked.kind, asked.numbers), asked.cost, pay).unwrap_or_default();
    }
    if let Some(name) = event.name {
        let key = Key { home: &[b"acme"], own: &[&[name]] }.encode().unwrap();
        plan.set_idempotency(Idempotency { key, keep_us: 5_000_000, asked: (name == 2).then_some(7) });
    }
    plan
}
