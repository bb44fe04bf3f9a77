//! The memory store beside the reference store: the same random history, verdict by verdict, while the table grows, is
//! swept and shrinks, limits change their numbers, and the clock jumps ahead. It does not step back: a counter that has
//! emptied may be gone or not, and only one that is not would count again.

use std::time::Duration;

use proptest::prelude::*;
use tidegate_core::{Key, Limit, Pay, Plan, Rate, Ticket, Timestamp, Window};
use tidegate_store::{Answer, AtEnd, Hold, Memory, Reference};

const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

#[derive(Clone, Debug)]
enum What {
    Decide,
    /// Decides about the first charge alone, without a plan if that can be.
    DecideOne,
    Read,
    Refund,
    Raise,
    Reset,
    /// Reserves, and settles at so many times the cost.
    Reserve(u64),
}

#[derive(Clone, Debug)]
struct Event {
    pause_us: u64,
    what: What,
    /// Limit, key, cost, which of its numbers, whether it pays always, whether a new group begins.
    charges: Vec<(usize, u16, u64, usize, bool, bool)>,
}

/// Every kind of limit with three sets of numbers, of which the last does not fit into a slot.
fn limit(kind: usize, numbers: usize) -> Limit {
    let amount = [5, 9, 40_000][numbers];
    let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3_600));
    let rate = |per| Rate::new([3, 7, 1_000][numbers], per).unwrap();
    match kind {
        0 => Limit::gcra(rate(second), amount),
        1 => Limit::token_bucket(amount, rate(hour)),
        2 => Limit::leaky_bucket_shaping(amount, rate(second)),
        3 => Limit::fixed_window(amount, Window::Aligned(hour)),
        4 => Limit::fixed_window(amount, Window::FirstHit(second)),
        5 => Limit::sliding_window(amount, hour),
        6 => Limit::sliding_window_in_parts(amount, second, 4),
        7 => Limit::sliding_log(amount.min(50), hour),
        _ => Limit::concurrency(amount, hour),
    }
    .unwrap()
}

fn events(keys: u16) -> impl Strategy<Value = Vec<Event>> {
    let pause = prop_oneof![
        8 => Just(0),
        8 => 0..3_000_000_u64,
        2 => 0..7_200_000_000_u64,
        1 => 0..400_000_000_000_u64,
    ];
    let what = prop_oneof![
        9 => Just(What::Decide),
        6 => Just(What::DecideOne),
        2 => Just(What::Read),
        2 => Just(What::Refund),
        2 => Just(What::Raise),
        1 => Just(What::Reset),
        2 => (0..4_u64).prop_map(What::Reserve),
    ];
    let numbers = prop_oneof![6 => Just(0_usize), 2 => Just(1_usize), 1 => Just(2_usize)];
    let charge =
        (0..9_usize, 0..keys, 0..4_u64, numbers, prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    let event = (pause, what, prop::collection::vec(charge, 1..5));
    let event = event.prop_map(|(pause_us, what, charges)| Event { pause_us, what, charges });
    prop::collection::vec(event, 1..120)
}

fn plan(event: &Event, ticket: u64) -> Plan {
    let mut plan = Plan::new();
    plan.set_ticket(Ticket(u128::from(ticket)));
    for (kind, key, cost, numbers, always, apart) in &event.charges {
        if *apart {
            plan.next_group();
        }
        let (limit, pay) = (limit(*kind, *numbers), if *always { Pay::Always } else { Pay::IfAdmitted });
        let key = Key { home: &[&key.to_be_bytes()], own: &[&[u8::try_from(*kind).unwrap()]] };
        // What cannot be planned is left out.
        plan.charge_when(key, limit, *cost, pay).unwrap_or_default();
    }
    plan
}

fn compare(events: &[Event], memory: &Memory) -> Result<(), TestCaseError> {
    let reference = Reference::new();
    let mut now = START;
    for (ticket, event) in (1..).zip(events) {
        now = now.plus_us(event.pause_us);
        let plan = plan(event, ticket);
        match event.what {
            What::Decide => {
                prop_assert_eq!(
                    memory.decide_now(&plan, now),
                    reference.decide_now(&plan, now),
                    "{:?}",
                    event
                );
            }
            What::DecideOne => {
                let one = Event { charges: event.charges[..1].to_vec(), ..event.clone() };
                let plan = self::plan(&one, ticket);
                let at_once = plan
                    .charges()
                    .find(|charge| charge.pay == Pay::IfAdmitted && charge.group == 0 && charge.cost > 0)
                    .and_then(|charge| memory.decide_one_now(charge.key, charge.limit, charge.cost, now));
                let ours = match at_once {
                    Some(verdict) => Ok(Answer::to_one(plan.ticket(), verdict)),
                    None => memory.decide_now(&plan, now),
                };
                prop_assert_eq!(ours, reference.decide_now(&plan, now), "{:?}", one);
            }
            What::Read => prop_assert_eq!(memory.read_now(&plan, now), reference.read_now(&plan, now)),
            What::Refund => {
                prop_assert_eq!(memory.refund_now(&plan, now, now), reference.refund_now(&plan, now, now));
            }
            What::Raise => prop_assert_eq!(memory.raise_now(&plan, now), reference.raise_now(&plan, now)),
            What::Reset => {
                memory.reset_now(&plan, now);
                reference.reset_now(&plan, now);
            }
            What::Reserve(times) => {
                let hold = Hold { term_us: 5_000_000, at_end: AtEnd::GiveBack };
                prop_assert_eq!(
                    memory.reserve_now(&plan, hold, now),
                    reference.reserve_now(&plan, hold, now)
                );
                let costs: Vec<u64> = plan.charges().map(|charge| charge.cost * times * 3_000).collect();
                let ticket = plan.ticket();
                let commit = |costs: &[u64]| {
                    (memory.commit_now(ticket, costs, now), reference.commit_now(ticket, costs, now))
                };
                let (ours, theirs) = commit(&costs);
                prop_assert_eq!(ours, theirs);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn few_keys_are_decided_alike(events in events(3)) {
        compare(&events, &Memory::new())?;
    }

    #[test]
    fn many_keys_are_decided_alike(events in events(2_000)) {
        compare(&events, &Memory::new())?;
    }
}

#[test]
fn keys_are_decided_alike_while_the_table_grows_and_shrinks() {
    let (memory, reference) = (Memory::with_cap(4 << 20), Reference::new());
    let mut now = START;
    for round in 0..3_u64 {
        for key in 0..60_000_u32 {
            now = now.plus_us(5);
            let mut plan = Plan::new();
            let kind = usize::try_from(key % 6).unwrap();
            let key = key.to_be_bytes();
            plan.charge(Key { home: &[&key], own: &[b"a"] }, limit(kind, 0), 1 + u64::from(key[3]) % 2)
                .unwrap();
            let ours = memory.decide_now(&plan, now).unwrap();
            assert_eq!(ours, reference.decide_now(&plan, now).unwrap(), "round {round}");
        }
        assert_eq!(memory.usage().evicted, 0);
        now = now.plus_us(if round == 1 { 90_000_000_000 } else { 4_000_000_000 });
    }
}
