//! Gates: counters that close when the limits before them are exceeded, refuse, and open by themselves.

use tidegate_core::{Outcome, Pay, Plan, Retry, Timestamp};

use super::super::idempotency::named;
use super::super::{
    Case, SECOND_US, START, and, decide, every_rate_limit, gate, read, remaining, single, then, wait,
};
use super::log;
use crate::contract::Store;

pub(super) fn cases<S: Store>() -> Vec<Case<S>> {
    vec![
        ("a gate closes in the step that refuses", a_gate_closes_in_the_step_that_refuses),
        ("a closed gate refuses and is not extended", a_closed_gate_refuses_and_is_not_extended),
        ("a gate is closed by its own limits alone", a_gate_is_closed_by_its_own_limits_alone),
        ("a gate of a shadow follows the first group", a_gate_of_a_shadow_follows_the_first_group),
        ("a gate behind a gate closes when that refuses", a_gate_behind_a_gate_closes_when_that_refuses),
        ("a reset opens a gate", a_reset_opens_a_gate),
        ("a repeated refusal pays again, a repeated admission does not", repetitions),
    ]
}

/// How long a gate stays closed.
const CLOSED_US: u64 = 10 * SECOND_US;

/// A gate behind that plan's last charges.
fn gated(plan: Plan, of: u8) -> Plan {
    and(plan, "gate", (gate(), 1), Pay::IfRefused { of })
}

fn is_open<S: Store>(store: &S, at: Timestamp) -> bool {
    read(store, &single("gate", gate(), 1), at).allowed()
}

fn a_gate_closes_in_the_step_that_refuses<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(3) {
        let plan = |cost| gated(single(name, limit, cost), 1);
        let admitted = decide(store, &plan(2), START);
        assert!(admitted.allowed() && !admitted.paid(1) && is_open(store, START), "{name}");
        let refused = decide(store, &plan(2), START);
        assert_eq!([refused.allowed(), refused.paid(0), refused.paid(1)], [false, false, true], "{name}");
        let outcome = refused.verdicts[1].outcome;
        assert_eq!(outcome, Outcome::Refused(Retry::After(CLOSED_US)), "{name}: it says when it opens");
        assert_eq!(remaining(store, &single(name, limit, 1), START), 1, "{name}: a refusal left a trace");
        assert!(!decide(store, &plan(1), START).allowed(), "{name}: the limit has room, the gate has not");
        wait(store.reset(&single("gate", gate(), 1), START)).expect("the store resets");
    }
}

fn a_closed_gate_refuses_and_is_not_extended<S: Store>(store: &S) {
    let plan = |cost| gated(single("limit", log(3), cost), 1);
    assert!(decide(store, &plan(4), START).paid(1));
    let later = START.plus_us(CLOSED_US - 1);
    for cost in [4, 1] {
        let answer = decide(store, &plan(cost), later);
        assert_eq!([answer.allowed(), answer.paid(0), answer.paid(1)], [false; 3]);
        assert_eq!(answer.verdicts[1].outcome, Outcome::Refused(Retry::After(1)));
    }
    let opened = decide(store, &plan(1), START.plus_us(CLOSED_US));
    assert!(opened.allowed() && opened.paid(0) && !opened.paid(1));
}

fn a_gate_is_closed_by_its_own_limits_alone<S: Store>(store: &S) {
    let plan = |other, own| gated(and(single("other", log(3), other), "own", (log(3), own), Pay::Never), 1);
    assert!(!decide(store, &plan(4, 1), START).allowed());
    assert!(is_open(store, START), "another limit closed it");
    assert!(decide(store, &plan(1, 4), START).paid(2), "a limit that never pays can be exceeded too");
    assert!(!is_open(store, START));
}

fn a_gate_of_a_shadow_follows_the_first_group<S: Store>(store: &S) {
    let plan = |first, shadow| {
        gated(and(then(single("first", log(9), first)), "shadow", (log(3), shadow), Pay::IfAdmitted), 1)
    };
    assert!(!decide(store, &plan(10, 4), START).paid(2));
    assert!(is_open(store, START), "a refused check closed the gate of a shadow");
    let answer = decide(store, &plan(1, 4), START);
    assert_eq!([answer.allowed(), answer.paid(1), answer.paid(2)], [true, false, true]);
    let answer = decide(store, &plan(1, 1), START);
    assert_eq!([answer.allowed(), answer.paid(1), answer.paid(2)], [true, false, false]);
    assert_eq!(remaining(store, &single("shadow", log(3), 1), START), 3);
}

fn a_gate_behind_a_gate_closes_when_that_refuses<S: Store>(store: &S) {
    let plan = |cost| {
        let first = gated(single("limit", log(3), cost), 1);
        and(first, "second gate", (gate(), 1), Pay::IfRefused { of: 1 })
    };
    let paid = |cost| {
        let answer = decide(store, &plan(cost), START);
        [answer.paid(0), answer.paid(1), answer.paid(2)]
    };
    assert_eq!(paid(4), [false, true, false], "the first gate was open when it was asked");
    assert_eq!(paid(1), [false, false, true]);
    assert_eq!(paid(1), [false; 3]);
}

fn a_reset_opens_a_gate<S: Store>(store: &S) {
    let plan = gated(single("limit", log(3), 4), 1);
    decide(store, &plan, START);
    assert_eq!(wait(store.reset(&plan, START)), Ok(1));
    assert!(is_open(store, START));
}

/// Only admissions are remembered; when a charge pays may be changed by a reload and does not tell checks apart.
fn repetitions<S: Store>(store: &S) {
    let plan = |cost, pay| {
        let both = and(single("limit", log(3), cost), "always", (log(9), 2), pay);
        named(gated(both, 2), "acme", "req-1")
    };
    for left in [7, 5] {
        let refused = decide(store, &plan(4, Pay::Always), START);
        assert!(!refused.allowed() && !refused.replayed);
        assert_eq!(remaining(store, &single("always", log(9), 1), START), left);
    }
    let later = START.plus_us(CLOSED_US);
    assert!(decide(store, &plan(1, Pay::Always), later).allowed());
    for pay in [Pay::Always, Pay::IfAdmitted] {
        assert!(decide(store, &plan(1, pay), later).replayed);
    }
    assert_eq!(remaining(store, &single("always", log(9), 1), later), 3);
    assert!(is_open(store, later));
}
