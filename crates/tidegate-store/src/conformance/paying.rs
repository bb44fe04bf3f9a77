//! When charges pay: on refusal, never, or to close a gate.

mod debts;
mod gates;

use tidegate_core::{Limit, Pay, Plan, Ticket};

use super::{
    Case, MINUTE, SECOND_US, START, and, decide, every_limit, every_rate_limit, read, remaining, single,
    slots, then, wait, with_ticket,
};
use crate::contract::{AtEnd, Hold, Settlement, Store};

pub(super) fn cases<S: Store>(exact: bool) -> Vec<Case<S>> {
    let mut cases: Vec<Case<S>> = vec![
        ("what always pays counts refusals", what_always_pays_counts_refusals),
        ("what always pays counts in a group of its own", what_always_pays_counts_in_a_group_of_its_own),
        ("what never pays is held to its limit", what_never_pays_is_held_to_its_limit),
        ("a slot that is never taken is not missed", a_slot_that_is_never_taken_is_not_missed),
        ("reads pay in no way", reads_pay_in_no_way),
        ("a reservation holds what an admission paid", a_reservation_holds_what_an_admission_paid),
        ("a refused reservation has paid for its refusal", a_refused_reservation_has_paid_for_its_refusal),
        ("a refund gives back what is paid on admission", a_refund_gives_back_what_is_paid_on_admission),
    ];
    if exact {
        cases.extend(debts::cases());
    }
    cases.extend(gates::cases());
    cases
}

fn log(amount: u64) -> Limit {
    Limit::sliding_log(amount, MINUTE).expect("an ordinary limit")
}

/// A charge that is refused already: its cost is more than its limit.
fn refused() -> Plan {
    single("refused", log(1), 2)
}

fn what_always_pays_counts_refusals<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(5) {
        let plan = and(refused(), name, (limit, 3), Pay::Always);
        let answer = decide(store, &plan, START);
        assert!(!answer.allowed() && !answer.paid(0) && answer.paid(1), "{name}");
        let verdict = answer.verdicts[1];
        assert!(verdict.allowed() && verdict.remaining == 2, "{name}: it was not the reason, and has paid");
        let admitted = decide(store, &and(Plan::new(), name, (limit, 2), Pay::Always), START);
        assert!(admitted.allowed() && admitted.paid(0), "{name}");
        assert_eq!(remaining(store, &single(name, limit, 1), START), 0, "{name}");
    }
}

/// Requests that are counted and not enforced.
fn what_always_pays_counts_in_a_group_of_its_own<S: Store>(store: &S) {
    let counted = |plan| and(then(plan), "counted", (log(5), 2), Pay::Always);
    let open = single("open", log(100), 1);
    for (first, left) in [(refused(), 3), (open.clone(), 1), (open, 0)] {
        let allowed = first.get(0).cost == 1;
        let answer = decide(store, &counted(first), START);
        assert_eq!([answer.allowed(), answer.paid(0), answer.paid(1)], [allowed, allowed, true]);
        assert_eq!(remaining(store, &single("counted", log(5), 1), START), left);
    }
}

fn what_never_pays_is_held_to_its_limit<S: Store>(store: &S) {
    for (name, limit) in every_limit(3) {
        let held = and(Plan::new(), name, (limit, 3), Pay::Never);
        for _ in 0..3 {
            let answer = decide(store, &held, START);
            assert!(answer.allowed() && !answer.paid(0), "{name}");
        }
        assert_eq!(remaining(store, &single(name, limit, 1), START), 3, "{name}");
        assert!(decide(store, &single(name, limit, 3), START).allowed(), "{name}");
        assert!(!decide(store, &held, START).allowed(), "{name}");
    }
}

fn a_slot_that_is_never_taken_is_not_missed<S: Store>(store: &S) {
    let plan = and(single("room", slots(2), 1), "watched", (slots(2), 1), Pay::Never);
    assert!(decide(store, &with_ticket(plan.clone(), 1), START).allowed());
    let renewed = wait(store.renew(&with_ticket(plan.clone(), 1), START));
    assert_eq!(renewed, Ok(Some(START.plus_us(60 * SECOND_US))));
    assert_eq!(wait(store.release(&with_ticket(plan, 1), START)), Ok(1));
}

fn reads_pay_in_no_way<S: Store>(store: &S) {
    let plan = and(refused(), "always", (log(5), 2), Pay::Always);
    let plan = and(plan, "gate", (super::gate(), 1), Pay::IfRefused { of: 2 });
    let answer = read(store, &plan, START);
    assert!(!answer.allowed() && (0..3).all(|index| !answer.paid(index)));
    assert_eq!([answer.verdicts[1].remaining, answer.verdicts[2].remaining], [5, 1]);
    assert_eq!(remaining(store, &single("always", log(5), 1), START), 5);
    assert_eq!(remaining(store, &single("gate", super::gate(), 1), START), 1);
}

/// A shadow group that was refused and paid is not part of the reservation.
fn a_reservation_holds_what_an_admission_paid<S: Store>(store: &S) {
    let plan = and(Plan::new(), "always", (log(9), 4), Pay::Always);
    let plan = and(plan, "never", (log(9), 4), Pay::Never);
    let plan = with_ticket(and(then(plan), "counted", (log(3), 4), Pay::Always), 1);
    let hold = Hold { term_us: SECOND_US, at_end: AtEnd::GiveBack };
    let left = |name, amount| remaining(store, &single(name, log(amount), 1), START);
    let answer = wait(store.reserve(&plan, hold, START)).expect("the store reserves");
    assert_eq!([answer.paid(0), answer.paid(1), answer.paid(2)], [true, false, true]);
    assert_eq!([left("always", 9), left("never", 9), left("counted", 3)], [5, 9, 0]);
    assert!(matches!(wait(store.commit(Ticket(1), &[1, 7, 1], START)), Ok(Settlement::Settled(_))));
    assert_eq!([left("always", 9), left("never", 9), left("counted", 3)], [8, 9, 0]);
    assert!(wait(store.reserve(&plan, hold, START)).is_ok_and(|answer| answer.allowed()));
    assert!(matches!(wait(store.cancel(Ticket(1), START)), Ok(Settlement::Settled(_))));
    assert_eq!([left("always", 9), left("never", 9), left("counted", 3)], [8, 9, 0]);
}

fn a_refused_reservation_has_paid_for_its_refusal<S: Store>(store: &S) {
    let plan = with_ticket(and(refused(), "always", (log(5), 2), Pay::Always), 1);
    let hold = Hold { term_us: SECOND_US, at_end: AtEnd::GiveBack };
    assert!(wait(store.reserve(&plan, hold, START)).is_ok_and(|answer| !answer.allowed() && answer.paid(1)));
    assert_eq!(wait(store.cancel(Ticket(1), START)), Ok(Settlement::Gone));
    let after = START.plus_us(2 * SECOND_US);
    assert_eq!(remaining(store, &single("always", log(5), 1), after), 3, "a refusal is not a loan");
}

fn a_refund_gives_back_what_is_paid_on_admission<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(9) {
        let (never, gate) = (format!("{name} never"), format!("{name} gate"));
        for key in [name, &never] {
            decide(store, &single(key, limit, 6), START);
        }
        decide(store, &single(&gate, super::gate(), 1), START);
        let plan = and(Plan::new(), name, (limit, 2), Pay::Always);
        let plan = and(plan, &never, (limit, 2), Pay::Never);
        let plan = and(plan, &gate, (super::gate(), 1), Pay::IfRefused { of: 2 });
        assert_eq!(wait(store.refund(&plan, START, START)), Ok(()));
        assert_eq!(remaining(store, &single(name, limit, 1), START), 5, "{name}");
        assert_eq!(remaining(store, &single(&never, limit, 1), START), 3, "{name}");
        assert_eq!(remaining(store, &single(&gate, super::gate(), 1), START), 0, "{name}");
    }
}
