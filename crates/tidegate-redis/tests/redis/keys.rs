//! What is in the server: names, ends, bytes, and the server's own time.

use std::time::Duration;

use tidegate_core::{Bounds, Idempotency, Key, Limit, Plan, Rate, Ticket, Timestamp, Window};
use tidegate_redis::{Redis, Settings};
use tidegate_store::{AtEnd, Hold, Store as _, StoreError};

use crate::server::{Server, wait};

const HOUR: Duration = Duration::from_secs(3_600);

fn store(server: &Server) -> Redis<Server> {
    Redis::new(server.clone(), &Settings::default())
}

fn gcra(per_hour: u64) -> Limit {
    Limit::gcra(Rate::new(per_hour, HOUR).unwrap(), per_hour).unwrap()
}

fn one(home: &str, limit: Limit, ticket: u128) -> Plan {
    let mut plan = Plan::new();
    plan.charge(Key { home: &[home.as_bytes()], own: &[b"secret", b"bob"] }, limit, 1).unwrap();
    plan.set_ticket(Ticket(ticket));
    plan
}

fn keys(server: &Server) -> Vec<String> {
    server.send(redis::cmd("KEYS").arg("*").take())
}

#[test]
fn the_servers_clock_counts_and_every_key_has_an_end() {
    let server = Server::redis();
    let store = store(&server);
    let limits = [
        gcra(3),
        Limit::fixed_window(3, Window::Aligned(HOUR)).unwrap(),
        Limit::sliding_window_in_parts(3, HOUR, 6).unwrap(),
        Limit::sliding_log(3, HOUR).unwrap(),
        Limit::concurrency(3, HOUR).unwrap(),
    ];
    for (number, limit) in (0..).zip(limits) {
        let admitted = (0..5).filter(|ticket| {
            // What the caller's clock shows does not matter.
            let now = Timestamp::from_micros(ticket * 1_000_000_000);
            let plan = one(&format!("home {number}"), limit, u128::from(*ticket));
            wait(store.decide(&plan, now)).unwrap().allowed()
        });
        assert_eq!(admitted.count(), 3, "{limit:?}");
    }
    let hold = Hold { term_us: 5_000_000, at_end: AtEnd::GiveBack };
    let mut named = one("held", gcra(9), 77);
    let key = Key { home: &[b"held"], own: &[b"request"] }.encode().unwrap();
    named.set_idempotency(Idempotency { key, keep_us: 1_000_000, asked: None });
    assert!(wait(store.reserve(&named, hold, Timestamp::ZERO)).unwrap().allowed());
    let keys = keys(&server);
    assert_eq!(
        keys.len(),
        5 + 5,
        "five counters, and a value, its loans, a name, a record and an index: {keys:?}"
    );
    for key in &keys {
        let left_ms: i64 = server.send(redis::cmd("PTTL").arg(key).take());
        assert!(left_ms > 0, "{key} has no end");
        assert!(!key.contains("secret") && !key.contains("bob"), "{key}");
    }
}

/// Now, as the server has it.
fn time(server: &Server) -> u64 {
    let (seconds, micros): (u64, u64) = server.send(redis::cmd("TIME"));
    seconds * 1_000_000 + micros
}

/// How often the server was asked for a command.
fn calls(server: &Server, command: &str) -> u64 {
    let said: String = server.send(redis::cmd("INFO").arg("commandstats").take());
    let line = said.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.and_then(|line| line.split(',').next()?.parse().ok()).unwrap_or(0)
}

/// Most writes leave the end of a key where it is: it was rounded up, and must never come before its counters are empty.
#[test]
fn a_key_lasts_as_long_as_its_counters_and_a_quarter_and_a_second_at_most() {
    let server = Server::redis();
    let store = store(&server);
    let minute = Duration::from_secs(60);
    let (fast, slow) = (Limit::gcra(Rate::new(900, minute).unwrap(), 900).unwrap(), gcra(7_000));
    let window = Limit::sliding_window(5_000, minute).unwrap();
    let homes: [(&str, &[Limit]); 4] =
        [("fast", &[fast]), ("slow", &[slow]), ("window", &[window]), ("all", &[fast, slow, window])];
    for (home, limits) in homes {
        for cost in (1..=3).cycle().take(100) {
            let mut plan = Plan::new();
            for (number, limit) in (0..).zip(limits) {
                let key = Key { home: &[home.as_bytes()], own: &[&[number], b"bob"] };
                plan.charge(key, *limit, cost).unwrap();
            }
            let before = time(&server);
            let answer = wait(store.decide(&plan, Timestamp::ZERO)).unwrap();
            let after = time(&server);
            assert!(answer.allowed());
            let counts_us = answer.verdicts.iter().map(|verdict| verdict.reset_after_us).max().unwrap();
            // Of a sliding window, the units count less and less for one more window.
            let longest_us = counts_us * 5 / 4 + if limits.contains(&window) { 75_000_000 } else { 0 };
            let mut ends =
                server.written("t:").into_iter().map(|(_, _, end_ms)| u64::try_from(end_ms).unwrap() * 1_000);
            let end = ends.next().unwrap();
            assert!(
                ends.next().is_none() && end >= before + counts_us,
                "{home}: {end} of {before} + {counts_us}"
            );
            assert!(end <= after + longest_us + 1_100_000, "{home}: {end} of {after} + {longest_us}");
        }
        server.send::<()>(redis::cmd("FLUSHALL"));
    }
    let (kept, set) = (calls(&server, "setrange") + calls(&server, "set"), calls(&server, "psetex"));
    assert!(kept > 2 * set, "{kept} writes kept the end of a key, and {set} set it");
}

#[test]
fn a_calendar_that_does_not_hold_the_servers_time_is_sent_back() {
    let server = Server::redis();
    let at = |seconds: u64| Timestamp::from_micros(seconds * 1_000_000);
    let bounds = Bounds { start: at(1), end: at(2), next_end: at(3) };
    let plan = one("home", Limit::fixed_window(1, Window::Calendar(bounds)).unwrap(), 1);
    let answer = wait(store(&server).decide(&plan, at(1)));
    assert!(matches!(answer, Err(StoreError::Recalculate(_))));
    assert!(keys(&server).is_empty());
}

#[test]
fn four_limits_of_one_entity_are_one_small_value() {
    let server = Server::redis();
    let store = store(&server);
    let mut plan = Plan::new();
    for name in ["a", "b", "c", "d"] {
        plan.charge(Key { home: &[b"acme"], own: &[name.as_bytes(), b"bob"] }, gcra(100), 1).unwrap();
    }
    assert!(wait(store.decide(&plan, Timestamp::ZERO)).unwrap().allowed());
    let keys = keys(&server);
    assert_eq!(keys.len(), 1);
    let bytes: usize = server.send(redis::cmd("STRLEN").arg(&keys[0]).take());
    assert_eq!((keys[0].len(), bytes), (30, 2 + 4 * 22));
}

/// What one value lends at once is bounded.
#[test]
fn a_value_that_lends_too_much_says_so_and_charges_nothing() {
    let server = Server::redis();
    let store = store(&server);
    let hold = Hold { term_us: 3_600_000_000, at_end: AtEnd::GiveBack };
    let reserve = |ticket| wait(store.reserve(&one("home", gcra(10_000), ticket), hold, Timestamp::ZERO));
    for ticket in 1..=1_024 {
        assert!(reserve(ticket).unwrap().allowed());
    }
    let before = wait(store.read(&one("home", gcra(10_000), 0), Timestamp::ZERO)).unwrap();
    assert_eq!(reserve(9_999), Err(StoreError::Full));
    let after = wait(store.read(&one("home", gcra(10_000), 0), Timestamp::ZERO)).unwrap();
    assert!(after.verdicts[0].remaining >= before.verdicts[0].remaining);
    assert!(wait(store.cancel(Ticket(1), Timestamp::ZERO)).is_ok());
    assert!(reserve(9_999).unwrap().allowed());
}
