//! The protocol of the lock bits under a model checker: every order in which two or three threads can meet, up to a number
//! of preemptions (two, or one for three threads, or `LOOM_MAX_PREEMPTIONS`), and every value that a load may see under the orderings that are asked for.

use std::sync::Arc;
use std::time::Duration;

use loom::thread;
use tidegate_core::{Key, Limit, Plan, Timestamp, Window};

use super::optimistic;
use super::page::Width;
use super::table::Table;

const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);
/// Pages for all.
const AMPLE: usize = 8;

fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 100_000;
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.check(model);
}

fn plan(keys: &[u8], amount: u64) -> Plan {
    let limit = Limit::fixed_window(amount, Window::Aligned(Duration::from_secs(3_600))).unwrap();
    let mut plan = Plan::new();
    for key in keys {
        plan.charge(Key { home: &[&[*key]], own: &[] }, limit, 1).unwrap();
    }
    plan
}

fn passes(table: &Table, keys: &[u8], amount: u64) -> bool {
    loop {
        if let Some(answer) = optimistic::decide(table, &plan(keys, amount), NOW, |_| false) {
            return answer.allowed();
        }
        thread::yield_now();
    }
}

/// How much of a key's limit is used.
fn used(table: &Table, key: u8, amount: u64) -> u64 {
    let plan = plan(&[key], amount);
    let lookup = table.find(table.hash(plan.get(0).key), Width::Narrow, NOW);
    if !lookup.is_found() {
        return 0;
    }
    let state = table.state(lookup.read().unwrap(), NOW);
    let limit = plan.get(0).limit;
    amount - limit.verdict(&state, NOW, tidegate_core::Outcome::Allowed).remaining
}

fn spawn(table: &Arc<Table>, keys: &'static [u8], amount: u64) -> thread::JoinHandle<bool> {
    let table = Arc::clone(table);
    thread::spawn(move || passes(&table, keys, amount))
}

/// The table with these keys in it, each used once.
fn table(keys: &[u8], amount: u64) -> Arc<Table> {
    let table = Arc::new(Table::tiny(AMPLE));
    assert!(keys.iter().all(|key| passes(&table, &[*key], amount)));
    table
}

#[test]
fn two_threads_share_one_limit_exactly() {
    explore(2, || {
        let table = table(b"a", 2);
        let other = spawn(&table, b"a", 2);
        let admitted = u64::from(passes(&table, b"a", 2)) + u64::from(other.join().unwrap());
        assert_eq!((admitted, used(&table, b'a', 2)), (1, 2));
    });
}

#[test]
fn three_threads_share_one_limit_exactly() {
    explore(1, || {
        let table = table(b"a", 3);
        let others = [spawn(&table, b"a", 3), spawn(&table, b"a", 3)];
        let mut admitted = u64::from(passes(&table, b"a", 3));
        for other in others {
            admitted += u64::from(other.join().unwrap());
        }
        assert_eq!((admitted, used(&table, b'a', 3)), (2, 3));
    });
}

#[test]
fn overlapping_plans_are_all_or_nothing() {
    explore(2, || {
        let table = table(b"ab", 2);
        let other = spawn(&table, b"ba", 2);
        let admitted = u64::from(passes(&table, b"ab", 2)) + u64::from(other.join().unwrap());
        assert_eq!(admitted, 1);
        assert_eq!((used(&table, b'a', 2), used(&table, b'b', 2)), (2, 2));
    });
}

#[test]
fn a_new_counter_gets_one_place() {
    explore(2, || {
        let table = table(b"", 1);
        let other = spawn(&table, b"a", 1);
        let admitted = u64::from(passes(&table, b"a", 1)) + u64::from(other.join().unwrap());
        assert_eq!((admitted, used(&table, b'a', 1), table.len()), (1, 1, 1));
    });
}

#[test]
fn nothing_is_lost_while_a_segment_is_replaced() {
    explore(2, || {
        let table = table(b"a", 3);
        let other = spawn(&table, b"a", 3);
        table.replace_segment(NOW);
        let admitted = u64::from(other.join().unwrap());
        assert_eq!((admitted, used(&table, b'a', 3)), (1, 2));
    });
}

#[test]
fn nobody_pays_for_another_who_took_their_place() {
    explore(2, || {
        let table = table(b"a", 2);
        let other = spawn(&table, b"a", 2);
        table.drop_a_rival_of(b'b', NOW);
        assert!(passes(&table, b"b", 2) && other.join().unwrap());
        assert_eq!(used(&table, b'b', 2), 1);
    });
}

#[test]
fn nothing_is_lost_while_a_segment_is_split() {
    explore(2, || {
        let table = table(b"ab", 3);
        let other = spawn(&table, b"ab", 3);
        table.split_segment(NOW);
        let admitted = u64::from(other.join().unwrap());
        assert_eq!((admitted, used(&table, b'a', 3), used(&table, b'b', 3)), (1, 2, 2));
    });
}

#[test]
fn a_counter_that_is_dropped_for_another_is_charged_or_new() {
    explore(2, || {
        let table = table(b"a", 2);
        let other = spawn(&table, b"a", 2);
        table.drop_a_rival_of(b'b', NOW);
        assert!(other.join().unwrap());
        assert!(matches!(used(&table, b'a', 2), 0..=2));
        assert!(table.len() <= 1);
    });
}
