//! A store that comes back without its counters: those with long windows are told again.

use std::time::Duration;

use tidegate_core::{Key, KeyRef, Limit, Plan, Rate, Timestamp, Window};
use tidegate_store::Store as _;
use tidegate_store::layer::Fallback;

use super::fallback::{Away, Does, START, admitted, lives_elsewhere, node, now, plan, ten};

const SECOND_US: u64 = 1_000_000;

fn monthly() -> Limit {
    Limit::fixed_window(100, Window::Aligned(Duration::from_secs(30 * 86_400))).unwrap()
}

fn everywhere(_: KeyRef<'_>) -> bool {
    true
}

/// So many units of a counter that lasts, all admitted.
fn uses(node: &Fallback<Away>, key: &str, units: u64, at: Timestamp) {
    let answer = now(node.decide(&plan(key, monthly(), units), at)).unwrap();
    assert!(answer.allowed() && !answer.local);
}

/// What the store has of a counter.
fn used(store: &Away, key: &str) -> u64 {
    now(store.read(&plan(key, monthly(), 0), START)).unwrap().verdicts[0].used()
}

/// Notices a loss and tells all of it, step by step.
fn tell(node: &Fallback<Away>, at: Timestamp) {
    node.lost(everywhere, at);
    assert!((0..10_000).any(|_| now(node.tell_again(at)) == 0), "it does not end");
}

#[test]
fn long_windows_go_on_from_the_most_that_any_node_knew() {
    let store = Away::new();
    let nodes = [node(&store, 2), node(&store, 2)];
    for node in &nodes {
        uses(node, "alice", 40, START);
        drop(now(node.decide(&plan("short", ten(), 10), START)));
    }
    store.loses_everything();
    // Before anybody notices, the counter begins anew.
    uses(&nodes[0], "alice", 10, START);
    for node in &nodes {
        tell(node, START);
    }
    assert_eq!(used(&store, "alice"), 80, "the second node had heard of both");
    assert_eq!(admitted(&nodes[0], &plan("short", ten(), 1), START), 10, "short windows are left alone");
}

#[test]
fn nothing_counts_twice_however_often_it_is_told() {
    let store = Away::new();
    let nodes = [node(&store, 2), node(&store, 2)];
    for node in &nodes {
        uses(node, "alice", 30, START);
    }
    // Nothing was lost; later everything is, and answers get lost on the way.
    for node in &nodes {
        tell(node, START);
    }
    assert_eq!(used(&store, "alice"), 60);
    store.loses_everything();
    nodes[1].lost(everywhere, START);
    store.does(Does::FallSilent);
    assert_eq!(now(nodes[1].tell_again(START)), 1, "nobody knows whether it was heard");
    store.does(Does::Answer);
    for node in &nodes {
        tell(node, START);
    }
    assert_eq!(used(&store, "alice"), 60);
}

#[test]
fn only_what_lived_there_is_told() {
    let store = Away::new();
    let node = node(&store, 1);
    uses(&node, "here", 30, START);
    uses(&node, "elsewhere", 30, START);
    store.loses_everything();
    assert_eq!(node.lost(lives_elsewhere, START), 1);
    assert_eq!((now(node.tell_again(START)), node.standing().untold), (0, 0));
    assert_eq!((used(&store, "here"), used(&store, "elsewhere")), (0, 30));
}

#[test]
fn it_is_told_in_steps_the_most_used_first() {
    let store = Away::new();
    let node = node(&store, 1);
    for units in 1..=90 {
        uses(&node, &units.to_string(), units, START);
    }
    store.loses_everything();
    assert_eq!((node.lost(everywhere, START), node.standing().untold), (90, 90));
    let left = now(node.tell_again(START));
    assert!((1..90).contains(&left), "a step is bounded, and goes on from the last: {left}");
    let has = |units: usize| used(&store, &units.to_string()) == u64::try_from(units).unwrap();
    assert!((left + 1..=90).all(has) && !(1..=left).any(has));
    assert!((0..90).any(|_| now(node.tell_again(START)) == 0) && (1..=90).all(has));
}

#[test]
fn what_cannot_be_told_waits_and_does_not_hold_up_the_others() {
    let store = Away::new();
    let node = node(&store, 1);
    for number in 0..100 {
        uses(&node, &format!("elsewhere {number}"), 50, START);
        uses(&node, &format!("here {number}"), 20, START);
    }
    store.loses_everything();
    node.lost(everywhere, START);
    store.does(Does::Refuse);
    assert_eq!(now(node.tell_again(START)), 200);
    store.does(Does::RefuseSome);
    assert!((0..40).any(|_| now(node.tell_again(START)) == 100), "those elsewhere are in the way");
    assert!((0..100).all(|number| used(&store, &format!("here {number}")) == 20));
    store.does(Does::Answer);
    assert!((0..40).any(|_| now(node.tell_again(START)) == 0), "they are not tried again");
    assert!((0..100).all(|number| used(&store, &format!("elsewhere {number}")) == 50));
}

#[test]
fn a_second_loss_forgets_nothing_of_the_first() {
    let store = Away::new();
    let node = node(&store, 1);
    uses(&node, "alice", 50, START);
    uses(&node, "bob", 30, START);
    store.loses_everything();
    node.lost(everywhere, START);
    // Not told yet; both begin anew, for longer than an earlier word is remembered.
    let later = START.plus_us(60 * SECOND_US);
    for at in [START, later] {
        uses(&node, "alice", 1, at);
        uses(&node, "bob", 20, at);
    }
    store.loses_everything();
    tell(&node, later);
    assert_eq!((used(&store, "alice"), used(&store, "bob")), (50, 40));
}

#[test]
fn debts_are_charged_on_top_of_what_was_lost() {
    let store = Away::new();
    let node = node(&store, 1);
    uses(&node, "alice", 50, START);
    store.does(Does::Refuse);
    assert!(now(node.decide(&plan("alice", monthly(), 20), START)).unwrap().local);
    store.loses_everything();
    node.lost(everywhere, START);
    assert_eq!((now(node.pay_back(START)), node.standing().untold), (1, 1), "it is away still");
    store.does(Does::Answer);
    assert_eq!((now(node.pay_back(START)), node.standing().untold), (0, 0));
    assert_eq!(used(&store, "alice"), 70);
    assert_eq!(now(node.tell_again(START)), 0);
    assert_eq!(used(&store, "alice"), 70);
}

#[test]
fn debts_that_may_not_be_paid_yet_wait_and_do_not_hold_up_the_others() {
    let store = Away::new();
    let node = node(&store, 1);
    store.does(Does::Refuse);
    for number in 0..300 {
        now(node.decide(&plan(&format!("elsewhere {number}"), ten(), 9), START)).unwrap();
    }
    now(node.decide(&plan("here", ten(), 1), START)).unwrap();
    store.does(Does::Answer);
    let pay = || now(node.pay_back_where(|key| !lives_elsewhere(key), START));
    assert_eq!((pay(), pay()), (301, 300));
    assert_eq!((node.standing().paid_back, now(node.pay_back(START))), (1, 44));
}

#[test]
fn units_that_were_given_back_long_ago_are_not_told() {
    let store = Away::new();
    let node = node(&store, 1);
    uses(&node, "alice", 50, START);
    now(node.refund(&plan("alice", monthly(), 30), START, START)).unwrap();
    uses(&node, "alice", 1, START);
    let later = START.plus_us(60 * SECOND_US);
    uses(&node, "alice", 1, later);
    store.loses_everything();
    tell(&node, later);
    assert_eq!(used(&store, "alice"), 22);
}

#[test]
fn what_was_reset_or_purged_is_not_told() {
    let store = Away::new();
    let node = node(&store, 1);
    uses(&node, "alice", 50, START);
    uses(&node, "bob", 50, START);
    assert_eq!(node.lost(everywhere, START), 2);
    now(node.reset(&plan("alice", monthly(), 1), START)).unwrap();
    assert_eq!((node.lost(everywhere, START), node.standing().untold), (1, 1));
    node.purge();
    assert_eq!((node.lost(everywhere, START), node.standing().untold), (0, 0));
}

#[test]
fn a_window_that_has_passed_is_not_told_again() {
    let store = Away::new();
    let node = node(&store, 1);
    let daily = |units: u64| {
        let limit = Limit::gcra(Rate::new(10, Duration::from_secs(86_400)).unwrap(), 10).unwrap();
        let mut plan = Plan::new();
        plan.charge(Key { home: &[b"bob"], own: &[b"rule"] }, limit, units).unwrap();
        plan
    };
    assert!(now(node.decide(&daily(10), START)).unwrap().allowed());
    store.loses_everything();
    let half_a_day = START.plus_us(43_200 * SECOND_US);
    tell(&node, half_a_day);
    assert_eq!(now(node.decide(&daily(1), half_a_day)).unwrap().verdicts[0].remaining, 4);
    assert_eq!(node.lost(everywhere, START.plus_us(100_000 * SECOND_US)), 0);
}

#[test]
fn as_many_as_a_node_remembers_are_told() {
    let store = Away::new();
    let node = node(&store, 1);
    for number in 0..20_000 {
        uses(&node, &number.to_string(), 1 + number % 90, START);
    }
    store.loses_everything();
    let remembered = node.lost(everywhere, START);
    assert!(remembered > 10_000, "{remembered}");
    assert!((0..10_000).any(|_| now(node.tell_again(START)) == 0), "it does not end");
    let back = (0..20_000).filter(|number: &u64| used(&store, &number.to_string()) == 1 + number % 90);
    assert_eq!(back.count(), remembered);
}
