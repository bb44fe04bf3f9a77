//! The same check delivered twice is charged once.

use tidegate_core::{Idempotency, Key, Limit, Plan, Ticket};

use super::{Case, MINUTE, SECOND_US, START, decide, remaining, single, slots, wait, with_ticket};
use crate::contract::{AtEnd, Hold, Settlement, Store, StoreError};

pub(super) fn cases<S: Store>() -> Vec<Case<S>> {
    vec![
        ("a second delivery is charged nothing and answered alike", a_second_delivery_is_charged_nothing),
        ("a refusal is not remembered", a_refusal_is_not_remembered),
        ("an admission is forgotten after its time", an_admission_is_forgotten_after_its_time),
        ("another check under the same name is an error", another_check_under_the_same_name_is_an_error),
        ("the same question after a reload is the same check", the_same_question_is_the_same_check),
        ("names are kept apart by their home", names_are_kept_apart_by_their_home),
        ("a repeated reservation is the first one", a_repeated_reservation_is_the_first_one),
    ]
}

pub(super) fn named(mut plan: Plan, home: &str, name: &str) -> Plan {
    let key = Key { home: &[home.as_bytes()], own: &[name.as_bytes()] }.encode().expect("a short name");
    plan.set_idempotency(Idempotency { key, keep_us: 10 * SECOND_US, asked: None });
    plan
}

fn asking(mut plan: Plan, asked: u64) -> Plan {
    let idempotency = plan.idempotency().cloned().expect("it has a name");
    plan.set_idempotency(Idempotency { asked: Some(asked), ..idempotency });
    plan
}

fn log(amount: u64) -> Limit {
    Limit::sliding_log(amount, MINUTE).expect("an ordinary limit")
}

fn a_second_delivery_is_charged_nothing<S: Store>(store: &S) {
    let plan = |ticket| named(with_ticket(single("idem", log(5), 2), ticket), "acme", "req-1");
    let first = decide(store, &plan(1), START);
    let second = decide(store, &plan(2), START.plus_us(SECOND_US));
    assert!(!first.replayed && second.replayed && second.allowed());
    assert_eq!(second.verdicts, first.verdicts);
    assert_eq!(second.ticket, Ticket(1), "the slots are held under the first ticket");
    assert_eq!(remaining(store, &single("idem", log(5), 1), START), 3);
}

fn a_refusal_is_not_remembered<S: Store>(store: &S) {
    decide(store, &single("busy", slots(1), 1), START);
    let plan = named(with_ticket(single("busy", slots(1), 1), 9), "acme", "req-1");
    assert!(!decide(store, &plan, START).allowed());
    wait(store.release(&single("busy", slots(1), 1), START)).expect("the store releases");
    let retry = decide(store, &plan, START);
    assert!(retry.allowed() && !retry.replayed);
}

fn an_admission_is_forgotten_after_its_time<S: Store>(store: &S) {
    let plan = named(single("idem", log(5), 2), "acme", "req-1");
    decide(store, &plan, START);
    assert!(decide(store, &plan, START.plus_us(10 * SECOND_US - 1)).replayed);
    assert!(!decide(store, &plan, START.plus_us(10 * SECOND_US)).replayed);
}

fn another_check_under_the_same_name_is_an_error<S: Store>(store: &S) {
    decide(store, &named(single("idem", log(5), 2), "acme", "req-1"), START);
    let mut shadow = Plan::new();
    shadow.next_group();
    shadow.charge(single("idem", log(5), 2).get(0).key, log(5), 2).expect("a small plan");
    for other in [single("idem", log(5), 1), single("other", log(5), 2), shadow] {
        let answer = wait(store.decide(&named(other, "acme", "req-1"), START));
        assert_eq!(answer, Err(StoreError::IdempotencyConflict));
    }
    let reloaded = named(single("idem", log(50), 2), "acme", "req-1");
    assert!(decide(store, &reloaded, START).replayed, "other numbers of the same limit are the same check");
    assert_eq!(remaining(store, &single("idem", log(5), 1), START), 3);
}

fn the_same_question_is_the_same_check<S: Store>(store: &S) {
    let plan = |key: &str, asked| asking(named(single(key, log(5), 2), "acme", "req-1"), asked);
    assert!(!decide(store, &plan("before", 1), START).replayed);
    let again = decide(store, &plan("after", 1), START);
    assert!(again.replayed && again.allowed());
    assert!(again.verdicts.is_empty(), "verdicts on charges that this plan does not have");
    assert_eq!(remaining(store, &single("after", log(5), 1), START), 5, "it was charged twice");
    let differing = decide(store, &plan("before", 2), START);
    assert!(differing.replayed && differing.verdicts.len() == 1, "what no limit asks about may differ");
    let answer = wait(store.decide(&plan("after", 2), START));
    assert_eq!(answer, Err(StoreError::IdempotencyConflict));
}

fn names_are_kept_apart_by_their_home<S: Store>(store: &S) {
    decide(store, &named(single("idem", log(5), 1), "acme", "req-1"), START);
    assert!(!decide(store, &named(single("idem", log(5), 1), "other", "req-1"), START).replayed);
    assert_eq!(remaining(store, &single("idem", log(5), 1), START), 3);
}

fn a_repeated_reservation_is_the_first_one<S: Store>(store: &S) {
    let hold = Hold { term_us: SECOND_US, at_end: AtEnd::Keep };
    let plan = named(with_ticket(single("idem", log(5), 2), 1), "acme", "req-1");
    let first = wait(store.reserve(&plan, hold, START)).expect("the store reserves");
    let second = wait(store.reserve(&plan, hold, START)).expect("the store reserves");
    assert!(first.allowed() && second.replayed);
    assert_eq!(remaining(store, &single("idem", log(5), 1), START), 3);
    assert!(matches!(wait(store.cancel(Ticket(1), START)), Ok(Settlement::Settled(_))));
    assert_eq!(
        wait(store.cancel(Ticket(1), START)),
        Ok(Settlement::Gone),
        "the repetition was reserved as well"
    );
    assert_eq!(remaining(store, &single("idem", log(5), 1), START), 5);
    let again = wait(store.reserve(&plan, hold, START)).expect("the store reserves");
    assert!(again.allowed() && !again.replayed, "a cancelled reservation keeps its name");
}
