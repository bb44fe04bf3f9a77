//! Reserve, commit, cancel; release, renew; refund; raise.

use tidegate_core::{Limit, Plan, Ticket, Timestamp};

use super::{
    Case, MINUTE, SECOND_US, START, decide, every_rate_limit, remaining, single, slots, together, wait,
    with_ticket,
};
use crate::contract::{AtEnd, Hold, Settlement, Store, StoreError};

const HOLD: Hold = Hold { term_us: 5 * SECOND_US, at_end: AtEnd::Keep };
const LOAN: Hold = Hold { term_us: 5 * SECOND_US, at_end: AtEnd::GiveBack };

pub(super) fn cases<S: Store>(exact: bool) -> Vec<Case<S>> {
    let mut cases: Vec<Case<S>> = vec![
        ("a refused reservation holds nothing", a_refused_reservation_holds_nothing),
        ("a reservation is settled once", a_reservation_is_settled_once),
        ("a ticket holds one reservation", a_ticket_holds_one_reservation),
        ("a ticket that is used again holds what it was used for last", a_ticket_that_is_used_again),
        ("a commit needs a cost for each charge", a_commit_needs_a_cost_for_each_charge),
        ("only paid groups are settled", only_paid_groups_are_settled),
        ("slots come back by release, and end by themselves", slots_come_back),
        ("a renewed slot lasts, an ended one is gone", renewal),
        ("a commit gives the slot back", a_commit_gives_the_slot_back),
        ("a renewal tells the first end, and nothing if a slot is gone", a_renewal_of_two_rooms),
        ("what is settled in a later window is settled there", settled_in_a_later_window),
        ("a loan that ends gives back its own slot and no other", a_loan_gives_back_its_own_slot),
        ("a window that has passed has nothing to give back", a_passed_window_gives_nothing_back),
        ("a raise leaves slots alone", a_raise_leaves_slots_alone),
    ];
    if exact {
        cases.push(("less than reserved is given back", less_is_given_back));
        cases.push(("more than reserved is a debt", more_is_a_debt));
        cases.push(("a cancelled reservation leaves no trace", a_cancelled_reservation_leaves_no_trace));
        cases.push(("an unsettled reservation stays spent", an_unsettled_reservation_stays_spent));
        cases.push(("a loan comes back by itself", a_loan_comes_back_by_itself));
        cases.push(("a refund is clamped", a_refund_is_clamped));
        cases.push(("a counter is raised to what it lacks, once", a_counter_is_raised_to_what_it_lacks));
        cases.push((
            "what a late clock reserved comes back whole",
            what_a_late_clock_reserved_comes_back_whole,
        ));
    }
    cases
}

fn reserve<S: Store>(store: &S, plan: &Plan, hold: Hold) -> bool {
    wait(store.reserve(plan, hold, START)).expect("the store reserves").allowed()
}

fn debt_of(settlement: Settlement) -> u64 {
    match settlement {
        Settlement::Settled(verdicts) => verdicts[0].debt,
        Settlement::Gone => panic!("the reservation is gone"),
    }
}

fn commit<S: Store>(store: &S, ticket: u128, cost: u64) -> Settlement {
    wait(store.commit(Ticket(ticket), &[cost], START)).expect("the store commits")
}

fn less_is_given_back<S: Store>(store: &S) {
    for (ticket, (name, limit)) in (1..).zip(every_rate_limit(10)) {
        assert!(reserve(store, &with_ticket(single(name, limit, 8), ticket), HOLD), "{name}");
        assert_eq!(remaining(store, &single(name, limit, 1), START), 2, "{name}");
        assert_eq!(debt_of(commit(store, ticket, 3)), 0, "{name}");
        assert_eq!(remaining(store, &single(name, limit, 1), START), 7, "{name}");
    }
}

fn more_is_a_debt<S: Store>(store: &S) {
    for (ticket, (name, limit)) in (1..).zip(every_rate_limit(10)) {
        assert!(reserve(store, &with_ticket(single(name, limit, 8), ticket), HOLD), "{name}");
        assert_eq!(debt_of(commit(store, ticket, 15)), 5, "{name}");
        assert!(!decide(store, &single(name, limit, 1), START).allowed(), "{name}");
    }
}

fn a_cancelled_reservation_leaves_no_trace<S: Store>(store: &S) {
    for (ticket, (name, limit)) in (1..).zip(every_rate_limit(10)) {
        assert!(reserve(store, &with_ticket(single(name, limit, 10), ticket), HOLD), "{name}");
        assert!(!decide(store, &single(name, limit, 1), START).allowed(), "{name}");
        assert!(matches!(wait(store.cancel(Ticket(ticket), START)), Ok(Settlement::Settled(_))), "{name}");
        assert_eq!(remaining(store, &single(name, limit, 1), START), 10, "{name}");
    }
}

fn a_refused_reservation_holds_nothing<S: Store>(store: &S) {
    for (ticket, (name, limit)) in (1..).zip(every_rate_limit(3)) {
        assert!(!reserve(store, &with_ticket(single(name, limit, 4), ticket), HOLD), "{name}");
        assert_eq!(commit(store, ticket, 1), Settlement::Gone, "{name}");
        assert_eq!(remaining(store, &single(name, limit, 1), START), 3, "{name}");
    }
}

fn a_reservation_is_settled_once<S: Store>(store: &S) {
    let limit = Limit::sliding_log(10, MINUTE).expect("an ordinary limit");
    assert!(reserve(store, &with_ticket(single("once", limit, 6), 1), HOLD));
    assert!(matches!(commit(store, 1, 2), Settlement::Settled(_)));
    assert_eq!(commit(store, 1, 2), Settlement::Gone);
    assert_eq!(wait(store.cancel(Ticket(1), START)), Ok(Settlement::Gone));
    assert_eq!(remaining(store, &single("once", limit, 1), START), 8);
}

fn a_ticket_holds_one_reservation<S: Store>(store: &S) {
    let limit = Limit::sliding_log(10, MINUTE).expect("an ordinary limit");
    let plan = with_ticket(single("ticket", limit, 1), 1);
    assert!(reserve(store, &plan, HOLD));
    assert_eq!(wait(store.reserve(&plan, HOLD, START)), Err(StoreError::TicketTaken));
    assert_eq!(remaining(store, &plan, START), 9, "the second was charged");
}

fn a_ticket_that_is_used_again<S: Store>(store: &S) {
    let limit = Limit::sliding_log(10, MINUTE).expect("an ordinary limit");
    let later = START.plus_us(HOLD.term_us);
    let charges = [("one", limit, 4), ("two", limit, 4), ("three", limit, 4)];
    let left = |name| remaining(store, &single(name, limit, 1), later);
    assert!(reserve(store, &with_ticket(together(&charges[..2]), 1), HOLD));
    for (again, costs) in
        [(&charges[1..], vec![1, 2]), (&charges[..], vec![1, 2, 3]), (&charges[2..], vec![1])]
    {
        let before = ["one", "two", "three"].map(left);
        let used_again = with_ticket(together(again), 1);
        assert!(wait(store.reserve(&used_again, HOLD, later)).is_ok_and(|answer| answer.allowed()));
        assert_eq!(wait(store.reserve(&used_again, HOLD, later)), Err(StoreError::TicketTaken));
        let settled = wait(store.commit(Ticket(1), &costs, later));
        assert!(matches!(settled, Ok(Settlement::Settled(_))), "{settled:?}");
        for (name, before) in ["one", "two", "three"].into_iter().zip(before) {
            let at = again.iter().position(|(charged, ..)| *charged == name);
            assert_eq!(left(name), before - at.map_or(0, |at| costs[at]), "{name}");
        }
    }
}

fn a_commit_needs_a_cost_for_each_charge<S: Store>(store: &S) {
    let limit = Limit::sliding_log(10, MINUTE).expect("an ordinary limit");
    let plan = with_ticket(together(&[("one", limit, 4), ("two", limit, 4)]), 1);
    assert!(reserve(store, &plan, HOLD));
    let wrong = wait(store.commit(Ticket(1), &[1], START));
    assert_eq!(wrong, Err(StoreError::CostCount { charges: 2, costs: 1 }));
    assert!(matches!(wait(store.commit(Ticket(1), &[1, 2], START)), Ok(Settlement::Settled(_))));
    assert_eq!(remaining(store, &single("one", limit, 1), START), 9);
    assert_eq!(remaining(store, &single("two", limit, 1), START), 8);
}

fn only_paid_groups_are_settled<S: Store>(store: &S) {
    let limit = |amount| Limit::sliding_log(amount, MINUTE).expect("an ordinary limit");
    let mut plan = with_ticket(single("decides", limit(10), 5), 1);
    plan.next_group();
    let key = tidegate_core::Key { home: &[b"shadow"], own: &[b"conformance"] };
    plan.charge(key, limit(3), 5).expect("a small plan");
    assert!(reserve(store, &plan, HOLD), "a shadow refused");
    assert!(matches!(wait(store.commit(Ticket(1), &[7, 7], START)), Ok(Settlement::Settled(_))));
    assert_eq!(remaining(store, &single("decides", limit(10), 1), START), 3);
    assert_eq!(remaining(store, &single("shadow", limit(3), 1), START), 3);
}

fn an_unsettled_reservation_stays_spent<S: Store>(store: &S) {
    let limit = Limit::sliding_log(10, MINUTE).expect("an ordinary limit");
    assert!(reserve(store, &with_ticket(single("spent", limit, 8), 1), HOLD));
    let after = START.plus_us(HOLD.term_us);
    assert_eq!(remaining(store, &single("spent", limit, 1), after), 2);
    assert_eq!(wait(store.commit(Ticket(1), &[1], after)), Ok(Settlement::Gone));
    assert_eq!(remaining(store, &single("spent", limit, 1), after), 2);
}

fn a_loan_comes_back_by_itself<S: Store>(store: &S) {
    let limit = Limit::sliding_log(10, MINUTE).expect("an ordinary limit");
    assert!(reserve(store, &with_ticket(single("loan", limit, 8), 1), LOAN));
    let before = START.plus_us(LOAN.term_us - 1);
    assert_eq!(remaining(store, &single("loan", limit, 1), before), 2);
    let after = START.plus_us(LOAN.term_us);
    assert_eq!(remaining(store, &single("loan", limit, 1), after), 10, "a read does not see what came back");
    assert!(decide(store, &single("loan", limit, 10), after).allowed());
}

fn slots_come_back<S: Store>(store: &S) {
    let plans: Vec<Plan> = (0..4).map(|n| with_ticket(single("room", slots(2), 1), n)).collect();
    let enter = |n: usize, at: Timestamp| decide(store, &plans[n], at).allowed();
    assert_eq!([enter(0, START), enter(1, START), enter(2, START)], [true, true, false]);
    assert_eq!(wait(store.release(&plans[0], START)), Ok(1));
    assert_eq!(wait(store.release(&plans[0], START)), Ok(0), "a slot was given back twice");
    assert_eq!([enter(2, START), enter(3, START)], [true, false]);
    let term = START.plus_us(60 * SECOND_US);
    assert_eq!([enter(3, term.minus_us(1)), enter(3, term)], [false, true]);
}

fn renewal<S: Store>(store: &S) {
    let held = with_ticket(single("room", slots(1), 1), 1);
    let other = with_ticket(single("room", slots(1), 1), 2);
    assert!(decide(store, &held, START).allowed());
    let later = START.plus_us(59 * SECOND_US);
    assert_eq!(wait(store.renew(&held, later)), Ok(Some(later.plus_us(60 * SECOND_US))));
    assert!(!decide(store, &other, START.plus_us(61 * SECOND_US)).allowed());
    assert_eq!(wait(store.renew(&held, later.plus_us(60 * SECOND_US))), Ok(None));
    assert!(decide(store, &other, later.plus_us(60 * SECOND_US)).allowed());
}

fn a_commit_gives_the_slot_back<S: Store>(store: &S) {
    let limit = Limit::sliding_log(10, MINUTE).expect("an ordinary limit");
    let plan = |ticket| with_ticket(together(&[("room", slots(1), 1), ("quota", limit, 5)]), ticket);
    assert!(reserve(store, &plan(1), HOLD));
    assert!(!reserve(store, &plan(2), HOLD));
    assert!(matches!(wait(store.commit(Ticket(1), &[1, 2], START)), Ok(Settlement::Settled(_))));
    assert_eq!(remaining(store, &single("quota", limit, 1), START), 8);
    assert!(reserve(store, &plan(2), HOLD));
}

fn a_renewal_of_two_rooms<S: Store>(store: &S) {
    let short = Limit::concurrency(1, std::time::Duration::from_secs(10)).expect("an ordinary limit");
    let both = with_ticket(together(&[("long", slots(1), 1), ("short", short, 1)]), 1);
    assert!(decide(store, &both, START).allowed());
    let later = START.plus_us(9 * SECOND_US);
    assert_eq!(wait(store.renew(&both, later)), Ok(Some(later.plus_us(10 * SECOND_US))));
    let too_late = later.plus_us(10 * SECOND_US);
    assert_eq!(wait(store.renew(&both, too_late)), Ok(None), "the short slot has ended");
    assert_eq!(wait(store.renew(&with_ticket(single("nowhere", slots(1), 1), 1), START)), Ok(None));
}

fn settled_in_a_later_window<S: Store>(store: &S) {
    let limit = Limit::fixed_window(10, tidegate_core::Window::Aligned(MINUTE)).expect("an ordinary limit");
    let (window, next) = (with_ticket(single("window", limit, 8), 1), START.plus_us(60 * SECOND_US));
    let hold = Hold { term_us: 120 * SECOND_US, at_end: AtEnd::Keep };
    assert!(wait(store.reserve(&window, hold, START)).is_ok_and(|answer| answer.allowed()));
    decide(store, &single("window", limit, 5), next);
    assert!(matches!(wait(store.cancel(Ticket(1), next)), Ok(Settlement::Settled(_))));
    assert_eq!(
        remaining(store, &single("window", limit, 1), next),
        5,
        "the passed window gave something back"
    );
    let loan = Hold { at_end: AtEnd::GiveBack, ..HOLD };
    let late = with_ticket(single("loan", limit, 8), 2);
    let boundary = START.plus_us(60 * SECOND_US - START.as_micros() % (60 * SECOND_US));
    assert!(wait(store.reserve(&late, loan, boundary.minus_us(1))).is_ok_and(|answer| answer.allowed()));
    decide(store, &single("loan", limit, 5), boundary);
    assert_eq!(remaining(store, &single("loan", limit, 1), boundary.plus_us(10 * SECOND_US)), 5);
}

/// Threads read the clock, then wait for the store: the order of arrival is not the order of time.
fn what_a_late_clock_reserved_comes_back_whole<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(50) {
        let nows = [98, 100, 103, 99, 101, 97].map(|us| START.plus_us(us));
        for (ticket, now) in (1..).zip(nows) {
            let plan = with_ticket(single(name, limit, 3), ticket);
            assert!(wait(store.reserve(&plan, HOLD, now)).is_ok_and(|answer| answer.allowed()), "{name}");
        }
        for ticket in 1..=6 {
            let settled = wait(store.cancel(Ticket(ticket), START.plus_us(103)));
            assert!(matches!(settled, Ok(Settlement::Settled(_))), "{name}");
        }
        assert_eq!(remaining(store, &single(name, limit, 1), START.plus_us(103)), 50, "{name}");
    }
}

fn a_loan_gives_back_its_own_slot<S: Store>(store: &S) {
    let plan = |ticket| with_ticket(single("room", slots(2), 1), ticket);
    assert!(decide(store, &plan(1), START).allowed(), "an older slot, which would end first");
    assert!(wait(store.reserve(&plan(2), LOAN, START.plus_us(1))).is_ok_and(|answer| answer.allowed()));
    let after = START.plus_us(1 + LOAN.term_us);
    assert!(decide(store, &plan(3), after).allowed());
    assert_eq!(
        wait(store.renew(&plan(1), after)).map(|end| end.is_some()),
        Ok(true),
        "another's slot was given back"
    );
}

fn a_refund_is_clamped<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(10) {
        decide(store, &single(name, limit, 6), START);
        assert_eq!(wait(store.refund(&single(name, limit, 2), START, START)), Ok(()));
        assert_eq!(remaining(store, &single(name, limit, 1), START), 6, "{name}");
        assert_eq!(wait(store.refund(&single(name, limit, u64::MAX), START, START)), Ok(()));
        assert_eq!(remaining(store, &single(name, limit, 1), START), 10, "{name}");
    }
}

fn a_passed_window_gives_nothing_back<S: Store>(store: &S) {
    let window = tidegate_core::Window::Aligned(MINUTE);
    let limit = Limit::fixed_window(10, window).expect("an ordinary limit");
    decide(store, &single("window", limit, 10), START);
    let next = START.plus_us(60 * SECOND_US);
    decide(store, &single("window", limit, 4), next);
    assert_eq!(wait(store.refund(&single("window", limit, 10), START, next)), Ok(()));
    assert_eq!(remaining(store, &single("window", limit, 1), next), 6);
}

fn a_counter_is_raised_to_what_it_lacks<S: Store>(store: &S) {
    for (name, limit) in every_rate_limit(10) {
        assert!(decide(store, &single(name, limit, 2), START).allowed(), "{name}");
        // Again and again, less and more, as nodes that do not know of each other tell it.
        for (units, left) in [(6, 4), (6, 4), (1, 4), (8, 2), (0, 2)] {
            let verdicts = wait(store.raise(&single(name, limit, units), START)).expect("the store raises");
            assert_eq!(verdicts[0].remaining, left, "{name}");
            assert_eq!(remaining(store, &single(name, limit, 1), START), left, "{name}");
        }
        assert_eq!(
            wait(store.raise(&single(name, limit, 13), START)).map(|told| told[0].debt),
            Ok(3),
            "{name}"
        );
    }
}

fn a_raise_leaves_slots_alone<S: Store>(store: &S) {
    let room = single("room", slots(2), 2);
    assert_eq!(wait(store.raise(&room, START)).map(|told| told[0].remaining), Ok(2));
}
