//! Plans: all or nothing, duplicates, groups, peeks, other numbers, other times.

use tidegate_core::{Bounds, Limit, Outcome, Retry, Timestamp, Window};

use super::{
    Case, SECOND_US, START, decide, every_limit, every_rate_limit, read, remaining, single, together, wait,
    with_ticket,
};
use crate::contract::{Store, StoreError};

pub(super) fn cases<S: Store>(exact: bool) -> Vec<Case<S>> {
    let mut cases: Vec<Case<S>> = vec![
        ("an empty plan passes", an_empty_plan_passes),
        ("a refused group is charged nowhere", a_refused_group_is_charged_nowhere),
        ("charges of one key in one group count together", duplicates_count_together),
        ("a shadow group follows the first and never decides", shadow_groups_never_decide),
        ("a plan of shadows alone passes", a_plan_of_shadows_alone_passes),
        ("a shadow that shapes delays nobody", a_shadow_that_shapes_delays_nobody),
        ("peeks and reads are free", peeks_and_reads_are_free),
        ("a cost above the limit can never pass", a_cost_above_the_limit_can_never_pass),
        ("different keys never meet", different_keys_never_meet),
        ("a calendar limit out of its bounds is sent back", a_calendar_limit_out_of_its_bounds_is_sent_back),
        ("a reset starts afresh", a_reset_starts_afresh),
    ];
    if exact {
        cases.push(("exactly the limit is admitted", exactly_the_limit_is_admitted));
        cases.push(("a raised limit unblocks at once", a_raised_limit_unblocks_at_once));
        cases.push(("a lowered limit counts what was used", a_lowered_limit_counts_what_was_used));
        cases.push(("a clock that steps back gives nothing", a_clock_that_steps_back_gives_nothing));
        cases.push(("a clock that steps back far blocks nobody", a_clock_that_steps_back_far_blocks_nobody));
    }
    cases
}

fn an_empty_plan_passes<S: Store>(store: &S) {
    let answer = decide(store, &tidegate_core::Plan::new(), START);
    assert!(answer.allowed() && answer.verdicts.is_empty());
}

fn exactly_the_limit_is_admitted<S: Store>(store: &S) {
    for (name, limit) in every_limit(7) {
        let admitted = (0..20).filter(|n| {
            let plan = with_ticket(single(name, limit, 1), 1000 + *n);
            decide(store, &plan, START).allowed()
        });
        assert_eq!(admitted.count(), 7, "{name}");
        let refused = decide(store, &single(name, limit, 1), START);
        let wait_us = refused.verdicts[0].retry_after_us().expect("a refusal says when");
        assert!(read(store, &single(name, limit, 1), START.plus_us(wait_us)).allowed(), "{name}");
        assert!(!read(store, &single(name, limit, 1), START.plus_us(wait_us - 1)).allowed(), "{name}");
    }
}

fn a_refused_group_is_charged_nowhere<S: Store>(store: &S) {
    let tight = Limit::sliding_log(1, super::MINUTE).expect("an ordinary limit");
    for (name, limit) in every_limit(5) {
        let full = format!("{name} full");
        decide(store, &single(&full, tight, 1), START);
        for order in [[(name, limit, 2), (&full, tight, 1)], [(&full, tight, 1), (name, limit, 2)]] {
            let answer = decide(store, &together(&order), START);
            assert!(!answer.allowed() && !answer.paid(0) && !answer.paid(1), "{name}");
        }
        assert_eq!(remaining(store, &single(name, limit, 1), START), 5, "{name}");
    }
}

fn duplicates_count_together<S: Store>(store: &S) {
    for (name, limit) in every_limit(5) {
        let twice = |cost| together(&[(name, limit, cost), (name, limit, cost)]);
        assert!(!decide(store, &twice(3), START).allowed(), "{name}: 6 of 5 passed");
        assert_eq!(remaining(store, &single(name, limit, 1), START), 5, "{name}");
        let answer = decide(store, &twice(2), START);
        assert!(answer.allowed(), "{name}: 4 of 5 refused");
        assert_eq!([answer.verdicts[0].remaining, answer.verdicts[1].remaining], [1, 1], "{name}");
    }
}

fn shadow_groups_never_decide<S: Store>(store: &S) {
    let limit = |amount| Limit::sliding_log(amount, super::MINUTE).expect("an ordinary limit");
    let mut plan = single("enforced", limit(3), 1);
    for name in ["shadow tight", "shadow wide"] {
        plan.next_group();
        let amount = if name == "shadow tight" { 1 } else { 100 };
        let key = tidegate_core::Key { home: &[name.as_bytes()], own: &[b"conformance"] };
        plan.charge(key, limit(amount), 1).expect("a small plan");
    }
    let paid = |_| {
        let answer = decide(store, &plan, START);
        (answer.allowed(), [answer.paid(0), answer.paid(1), answer.paid(2)])
    };
    let seen: Vec<_> = (0..5).map(paid).collect();
    assert_eq!(seen[0], (true, [true, true, true]));
    assert_eq!(seen[1], (true, [true, false, true]), "a shadow group that refuses does not refuse the check");
    assert_eq!(seen[3], (false, [false, false, false]), "a refused check is not charged to a shadow");
    assert_eq!(remaining(store, &single("shadow wide", limit(100), 1), START), 97);
}

fn shadow_of(plan: &mut tidegate_core::Plan, name: &str, limit: Limit, cost: u64) {
    plan.next_group();
    let key = tidegate_core::Key { home: &[name.as_bytes()], own: &[b"conformance"] };
    plan.charge(key, limit, cost).expect("a small plan");
}

fn a_plan_of_shadows_alone_passes<S: Store>(store: &S) {
    let mut plan = tidegate_core::Plan::new();
    shadow_of(&mut plan, "shadow", Limit::sliding_log(1, super::MINUTE).expect("an ordinary limit"), 1);
    let seen: Vec<_> = (0..3)
        .map(|_| decide(store, &plan, START))
        .map(|answer| (answer.allowed(), answer.paid(0)))
        .collect();
    assert_eq!(seen, [(true, true), (true, false), (true, false)]);
}

fn a_shadow_that_shapes_delays_nobody<S: Store>(store: &S) {
    let rate = super::rate(1, std::time::Duration::from_secs(1));
    let shape = Limit::leaky_bucket_shaping(5, rate).expect("an ordinary limit");
    let mut plan = single("wide", Limit::sliding_log(100, super::MINUTE).expect("an ordinary limit"), 1);
    shadow_of(&mut plan, "shadow", shape, 1);
    for _ in 0..3 {
        assert_eq!(decide(store, &plan, START).delay_us(), 0);
    }
    let delays: Vec<u64> =
        (0..7).map(|_| decide(store, &single("queue", shape, 1), START).delay_us()).collect();
    assert_eq!(delays, [0, 1, 2, 3, 4, 0, 0].map(|seconds| seconds * SECOND_US), "a refusal has no delay");
}

fn peeks_and_reads_are_free<S: Store>(store: &S) {
    for (name, limit) in every_limit(3) {
        for _ in 0..5 {
            assert!(decide(store, &single(name, limit, 0), START).allowed(), "{name}");
            assert!(read(store, &single(name, limit, 3), START).allowed(), "{name}");
        }
        assert_eq!(remaining(store, &single(name, limit, 1), START), 3, "{name}");
        assert!(!read(store, &single(name, limit, 4), START).allowed(), "{name}");
    }
}

fn a_cost_above_the_limit_can_never_pass<S: Store>(store: &S) {
    for (name, limit) in every_limit(3) {
        for cost in [4, u64::MAX] {
            let answer = decide(store, &single(name, limit, cost), START);
            assert_eq!(answer.verdicts[0].outcome, Outcome::Refused(Retry::Never), "{name}");
        }
        let twice = together(&[(name, limit, u64::MAX), (name, limit, u64::MAX)]);
        assert!(!decide(store, &twice, START).allowed(), "{name}");
    }
}

fn different_keys_never_meet<S: Store>(store: &S) {
    let limit = Limit::sliding_log(1, super::MINUTE).expect("an ordinary limit");
    let parts: [&[&[u8]]; 7] =
        [&[], &[b""], &[b"", b""], &[b"a", b"b"], &[b"ab"], &[b"a\0b"], &[b"{a}", b"\xff\xfe"]];
    for home in parts {
        for own in parts {
            let mut plan = tidegate_core::Plan::new();
            plan.charge(tidegate_core::Key { home, own }, limit, 1).expect("a small plan");
            assert!(decide(store, &plan, START).allowed(), "{home:?} {own:?} met another key");
            assert!(!decide(store, &plan, START).allowed(), "{home:?} {own:?} was forgotten");
        }
    }
}

fn a_calendar_limit_out_of_its_bounds_is_sent_back<S: Store>(store: &S) {
    let bounds =
        Bounds { start: START, end: START.plus_us(SECOND_US), next_end: START.plus_us(2 * SECOND_US) };
    let limit = Limit::fixed_window(1, Window::Calendar(bounds)).expect("bounds in order");
    let plan = single("calendar", limit, 1);
    let allowed =
        |after_us| wait(store.decide(&plan, START.plus_us(after_us))).map(|answer| answer.allowed());
    assert_eq!([allowed(0), allowed(SECOND_US - 1)], [Ok(true), Ok(false)]);
    assert_eq!([allowed(SECOND_US), allowed(2 * SECOND_US - 1)], [Ok(true), Ok(false)]);
    assert!(matches!(allowed(2 * SECOND_US), Err(StoreError::Recalculate(_))));
}

fn a_reset_starts_afresh<S: Store>(store: &S) {
    for (name, limit) in every_limit(2) {
        let plan = with_ticket(single(name, limit, 2), 1);
        assert!(decide(store, &plan, START).allowed(), "{name}");
        assert_eq!(wait(store.reset(&plan, START)), Ok(1), "{name}");
        assert_eq!(wait(store.reset(&plan, START)), Ok(0), "{name}");
        assert!(decide(store, &plan, START).allowed(), "{name}");
    }
}

fn a_raised_limit_unblocks_at_once<S: Store>(store: &S) {
    for ((name, limit), (_, raised)) in every_limit(10).into_iter().zip(every_limit(100)) {
        decide(store, &with_ticket(single(name, limit, 10), 1), START);
        assert!(!decide(store, &single(name, limit, 1), START).allowed(), "{name}");
        let answer = decide(store, &with_ticket(single(name, raised, 90), 2), START);
        assert!(answer.allowed(), "{name}");
        assert_eq!(answer.verdicts[0].remaining, 0, "{name}");
    }
}

fn a_lowered_limit_counts_what_was_used<S: Store>(store: &S) {
    for ((name, limit), (_, lowered)) in every_limit(100).into_iter().zip(every_limit(10)) {
        decide(store, &with_ticket(single(name, limit, 40), 1), START);
        let verdict = read(store, &single(name, lowered, 1), START).verdicts[0];
        assert_eq!((verdict.allowed(), verdict.remaining, verdict.debt), (false, 0, 30), "{name}");
        assert_eq!(remaining(store, &single(name, limit, 1), START), 60, "{name}");
    }
}

fn a_clock_that_steps_back_gives_nothing<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(5) {
        decide(store, &single(name, limit, 5), START);
        let earlier = START.minus_us(SECOND_US);
        assert!(!decide(store, &single(name, limit, 1), earlier).allowed(), "{name}");
    }
}

fn a_clock_that_steps_back_far_blocks_nobody<S: Store>(store: &S) {
    let ahead = Timestamp::from_micros(START.as_micros() * 2);
    for (name, limit) in every_rate_limit(5) {
        decide(store, &single(name, limit, 5), ahead);
        assert!(decide(store, &single(name, limit, 5), START).allowed(), "{name}");
        assert!(!decide(store, &single(name, limit, 1), START).allowed(), "{name}");
    }
}
