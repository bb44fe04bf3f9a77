//! Refusals that count: past the limit, up to twice the limit, so that who keeps trying stays refused.

use tidegate_core::{Limit, Pay, Plan, Timestamp};

use super::super::{Case, SECOND_US, START, and, decide, every_rate_limit, read, single, then, wait};
use super::{log, refused};
use crate::contract::Store;

pub(super) fn cases<S: Store>() -> Vec<Case<S>> {
    vec![
        ("a refusal pays up to twice the limit", a_refusal_pays_up_to_twice_the_limit),
        ("a cost above the limit pays for its refusal too", a_cost_above_the_limit_pays_for_its_refusal_too),
        ("a debt past its bound is left as it is", a_debt_past_its_bound_is_left_as_it_is),
        ("a refund reduces a debt", a_refund_reduces_a_debt),
        ("twins pay for a refusal together", twins_pay_for_a_refusal_together),
        ("groups share the bound of a debt", groups_share_the_bound_of_a_debt),
        ("who keeps trying stays refused", who_keeps_trying_stays_refused),
        ("who keeps trying after a burst stays refused", who_keeps_trying_after_a_burst_stays_refused),
        ("who pauses is admitted", who_pauses_is_admitted),
    ]
}

/// A charge that is paid whatever becomes of the check.
fn always(name: &str, limit: Limit, cost: u64) -> Plan {
    and(Plan::new(), name, (limit, cost), Pay::Always)
}

fn debt<S: Store>(store: &S, name: &str, limit: Limit) -> u64 {
    read(store, &single(name, limit, 1), START).verdicts[0].debt
}

fn a_refusal_pays_up_to_twice_the_limit<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(5) {
        decide(store, &single(name, limit, 3), START);
        let plan = always(name, limit, 3);
        for (debt, paid) in [(1, true), (4, true), (5, true), (5, false)] {
            let answer = decide(store, &plan, START);
            let verdict = answer.verdicts[0];
            assert_eq!((answer.allowed(), answer.paid(0)), (false, paid), "{name}");
            assert_eq!((verdict.remaining, verdict.debt), (0, debt), "{name}");
            let wait_us = verdict.retry_after_us().expect("a refusal says when");
            assert!(read(store, &plan, START.plus_us(wait_us)).allowed(), "{name}");
            assert!(!read(store, &plan, START.plus_us(wait_us - 1)).allowed(), "{name}: a debt has its time");
        }
        let peek = decide(store, &and(refused(), name, (limit, 0), Pay::Always), START);
        assert!(!peek.paid(1), "{name}: nothing is not paid");
    }
}

fn a_cost_above_the_limit_pays_for_its_refusal_too<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(5) {
        for (debt, paid) in [(2, true), (5, true), (5, false)] {
            let answer = decide(store, &always(name, limit, 7), START);
            assert_eq!((answer.allowed(), answer.paid(0)), (false, paid), "{name}");
            assert_eq!(answer.verdicts[0].debt, debt, "{name}");
            assert_eq!(answer.verdicts[0].retry_after_us(), None, "{name}: it can never pass");
        }
    }
}

/// A limit that was lowered can owe more than refusals may charge.
fn a_debt_past_its_bound_is_left_as_it_is<S: Store>(store: &S) {
    assert!(decide(store, &single("lowered", log(20), 20), START).allowed());
    let answer = decide(store, &always("lowered", log(5), 1), START);
    assert_eq!((answer.allowed(), answer.paid(0), answer.verdicts[0].debt), (false, false, 15));
}

fn a_refund_reduces_a_debt<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(5) {
        assert!(decide(store, &always(name, limit, 5), START).allowed(), "{name}");
        assert!(decide(store, &always(name, limit, 4), START).paid(0), "{name}");
        assert_eq!(wait(store.refund(&always(name, limit, 3), START, START)), Ok(()));
        assert_eq!(debt(store, name, limit), 1, "{name}");
    }
}

fn twins_pay_for_a_refusal_together<S: Store>(store: &S) {
    let twice = |cost| and(always("twin", log(5), cost), "twin", (log(5), cost), Pay::Always);
    assert!(decide(store, &twice(1), START).allowed());
    for (owed, paid) in [(1, true), (5, true), (5, false)] {
        let answer = decide(store, &twice(2), START);
        assert_eq!([answer.allowed(), answer.paid(0), answer.paid(1)], [false, paid, paid]);
        assert_eq!(debt(store, "twin", log(5)), owed);
    }
}

fn groups_share_the_bound_of_a_debt<S: Store>(store: &S) {
    let plan = and(then(always("shared", log(5), 6)), "shared", (log(5), 6), Pay::Always);
    let answer = decide(store, &plan, START);
    assert_eq!([answer.allowed(), answer.paid(0), answer.paid(1)], [false, true, true]);
    let answer = decide(store, &plan, START);
    assert_eq!([answer.allowed(), answer.paid(0), answer.paid(1)], [false; 3]);
    assert_eq!(debt(store, "shared", log(5)), 5);
}

/// How many pass of one a second, three minutes long, and the instant after that.
fn hammer<S: Store>(store: &S, plan: &Plan) -> (usize, Timestamp) {
    let attempt = |second: &u64| decide(store, plan, START.plus_us(second * SECOND_US)).allowed();
    ((0..180).filter(attempt).count(), START.plus_us(180 * SECOND_US))
}

/// What leaves a window or drains from a bucket is replaced by the next refusal. Fixed windows start anew.
fn who_keeps_trying_stays_refused<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(5) {
        let anew = name.starts_with("fixed_window");
        let (passed, _) = hammer(store, &always(name, limit, 1));
        assert!(passed == 5 || anew && passed > 5, "{name}: {passed} passed");
        let uncounted = format!("{name} uncounted");
        assert!(hammer(store, &single(&uncounted, limit, 1)).0 > 5, "{name}: nothing else refuses");
    }
}

/// What was booked in one instant fades or drains slowly enough to be replaced, except where it leaves all at once: fixed
/// windows start anew, and a log forgets the burst.
fn who_keeps_trying_after_a_burst_stays_refused<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(5) {
        let at_once = name.starts_with("fixed_window") || name.starts_with("sliding_log");
        let plan = always(name, limit, 1);
        let burst = (0..20).filter(|_| decide(store, &plan, START).allowed()).count();
        let (passed, _) = hammer(store, &plan);
        assert_eq!((burst, passed > 0), (5, at_once), "{name}: {passed} passed");
    }
}

/// At most one capacity of debt and what a charge needs: two windows' time, if a window weighs the one before it.
fn who_pauses_is_admitted<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(5) {
        let plan = always(name, limit, 1);
        let (_, now) = hammer(store, &plan);
        let wait_us = read(store, &plan, now).verdicts[0].retry_after_us().unwrap_or(0);
        assert!(wait_us <= 120 * SECOND_US, "{name}: {wait_us} us");
        assert!(decide(store, &plan, now.plus_us(wait_us)).allowed(), "{name}");
    }
}
