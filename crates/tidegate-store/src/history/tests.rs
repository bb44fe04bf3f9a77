use std::time::Duration;

use tidegate_core::{Key, Limit, Pay, Verdict};

use super::*;
use crate::Reference;

const NOW: Timestamp = Timestamp::from_micros(1_000_000);

fn plan(limit: u64, cost: u64) -> Plan {
    let mut plan = Plan::new();
    let limit = Limit::sliding_log(limit, Duration::from_secs(60)).unwrap();
    plan.charge(Key { home: &[b"k"], own: &[] }, limit, cost).unwrap();
    plan
}

fn decided(plan: &Plan, answer: Answer) -> Event {
    Event { now: NOW, plan: plan.clone(), what: What::Decided(answer) }
}

/// Ten honest decisions of a limit of three.
fn history() -> Vec<Event> {
    let (store, plan) = (Reference::new(), plan(3, 1));
    (0..10).map(|_| decided(&plan, store.decide_now(&plan, NOW).unwrap())).collect()
}

/// The answer of a store with room for `limit`, to a plan that names another limit.
fn answer_of_a_store_with(limit: u64, asked: &Plan) -> Answer {
    let loose = plan(limit, asked.get(0).cost);
    let answer = Reference::new().decide_now(&loose, NOW).unwrap();
    Answer::new(asked, answer.verdicts.clone(), |index| answer.paid(index))
}

#[test]
fn an_honest_history_passes_in_any_order() {
    let mut events = history();
    let checked = check(&events, Order::Sequence, Claims::default()).unwrap();
    assert_eq!(checked, Checked { decisions: 10, admitted: 3 });
    events.reverse();
    assert_eq!(check(&events, Order::Instants, Claims::default()), Ok(checked));
}

#[test]
fn one_admission_too_many_is_found() {
    let mut events = history();
    events[5] = decided(&plan(3, 1), answer_of_a_store_with(100, &plan(3, 1)));
    let violation = check(&events, Order::Instants, Claims::default()).unwrap_err();
    assert_eq!((violation.event, violation.breach), (5, Breach::Over { by: 1, limit: 3 }));
    assert!(check(&events, Order::Instants, Claims { over: 1, early: 0 }).is_ok());
}

#[test]
fn units_past_a_limit_are_counted_together() {
    let mut events = history();
    for event in &mut events[5..8] {
        *event = decided(&plan(3, 1), answer_of_a_store_with(100, &plan(3, 1)));
    }
    for order in [Order::Sequence, Order::Instants] {
        let violation = check(&events, order, Claims { over: 2, early: 0 }).unwrap_err();
        assert_eq!((violation.event, violation.breach), (7, Breach::Over { by: 3, limit: 3 }));
        assert!(check(&events, order, Claims { over: 3, early: 0 }).is_ok());
    }
}

#[test]
fn a_refusal_with_room_left_is_found() {
    let refusal = history().pop().unwrap();
    let violation = check(std::slice::from_ref(&refusal), Order::Instants, Claims::default()).unwrap_err();
    assert_eq!(violation.breach, Breach::Early { left: 2, limit: 3 });
    assert!(check(std::slice::from_ref(&refusal), Order::Instants, Claims { over: 0, early: 3 }).is_ok());
    assert!(check(&[refusal], Order::Instants, Claims { over: 0, early: 2 }).is_err());
}

#[test]
fn a_wrong_number_in_a_verdict_is_found() {
    let mut events = history();
    let What::Decided(answer) = &mut events[1].what else { unreachable!("it is a decision") };
    answer.verdicts[0] = Verdict { remaining: 2, ..answer.verdicts[0] };
    let violation = check(&events, Order::Sequence, Claims::default()).unwrap_err();
    assert!(matches!(violation.breach, Breach::Different { .. }), "{violation}");
    assert!(check(&events, Order::Instants, Claims::default()).is_ok());
}

#[test]
fn a_group_that_is_half_paid_is_found() {
    let plan = plan(3, 1);
    let answer = Reference::new().decide_now(&plan, NOW).unwrap();
    let unpaid = Answer::new(&plan, answer.verdicts, |_| false);
    let violation = check(&[decided(&plan, unpaid)], Order::Sequence, Claims::default()).unwrap_err();
    assert_eq!(violation.breach, Breach::NotWhole);
}

/// A refused plan with a charge of each kind, and the store's answer with other words on who paid.
fn refusal(paid: impl Fn(usize, bool) -> bool) -> Event {
    let mut plan = plan(3, 4);
    let limit = Limit::sliding_log(3, Duration::from_secs(60)).unwrap();
    for (name, pay) in [("always", Pay::Always), ("never", Pay::Never), ("gate", Pay::IfRefused { of: 3 })] {
        plan.charge_when(Key { home: &[name.as_bytes()], own: &[] }, limit, 1, pay).unwrap();
    }
    let answer = Reference::new().decide_now(&plan, NOW).unwrap();
    decided(&plan, Answer::new(&plan, answer.verdicts.clone(), |index| paid(index, answer.paid(index))))
}

#[test]
fn a_charge_that_pays_otherwise_than_it_says_is_found() {
    let breaches =
        [Breach::NotWhole, Breach::Unpaid { left: 6, limit: 3 }, Breach::NotWhole, Breach::NotWhole];
    for order in [Order::Sequence, Order::Instants] {
        assert!(check(&[refusal(|_, paid| paid)], order, Claims::default()).is_ok());
        for (odd, breach) in breaches.iter().enumerate() {
            let event = refusal(|index, paid| paid != (index == odd));
            let violation = check(&[event], order, Claims::default()).unwrap_err();
            assert_eq!((violation.charge, &violation.breach), (odd, breach), "{order:?}");
        }
    }
}

/// A charge on a limit of five that pays for refusals too.
fn always(cost: u64) -> Plan {
    let mut plan = Plan::new();
    let limit = Limit::sliding_log(5, Duration::from_secs(60)).unwrap();
    plan.charge_when(Key { home: &[b"k"], own: &[] }, limit, cost, Pay::Always).unwrap();
    plan
}

/// Of three refusals one paid whole, one up to the bound, and one nothing; which one, another order would change.
#[test]
fn what_refusals_paid_has_no_order_within_an_instant() {
    let store = Reference::new();
    let decide = |cost| decided(&always(cost), store.decide_now(&always(cost), NOW).unwrap());
    let mut events: Vec<Event> = [2, 1, 4, 6, 1].map(decide).into();
    for _ in 0..events.len() {
        events.rotate_left(1);
        let checked = check(&events, Order::Instants, Claims::default());
        assert_eq!(checked, Ok(Checked { decisions: 5, admitted: 2 }));
    }
}

/// Its refusals fill the limit and no more, so the second one pays nothing.
#[test]
fn refusals_that_end_at_the_limit_are_found() {
    let store = Reference::new();
    let mut events: Vec<Event> = [4, 3, 3]
        .map(|cost| {
            let units = cost.min(store.read_now(&always(1), NOW).unwrap().verdicts[0].remaining);
            store.decide_now(&always(units), NOW).unwrap();
            let after = store.read_now(&always(cost), NOW).unwrap();
            decided(&always(cost), Answer::new(&always(cost), after.verdicts, |_| units > 0))
        })
        .into();
    events[0] = decided(&always(4), Reference::new().decide_now(&always(4), NOW).unwrap());
    let violation = check(&events, Order::Instants, Claims::default()).unwrap_err();
    assert_eq!((violation.event, violation.breach), (2, Breach::Unpaid { left: 3, limit: 5 }));
    let violation = check(&events, Order::Sequence, Claims::default()).unwrap_err();
    assert!(violation.event == 1 && matches!(violation.breach, Breach::Different { .. }), "{violation}");
}
