//! A server whose memory is full: what it refuses leaves everything as it was, byte for byte.

use std::cell::Cell;
use std::time::Duration;

use proptest::prelude::*;
use tidegate_core::{Idempotency, Key, Limit, Plan, Ticket, Timestamp};
use tidegate_redis::{Call, CallError, Caller, Clock, Redis, Settings};
use tidegate_store::{AtEnd, Hold, Settlement, Store as _, StoreError};

use crate::course::{Course, act};
use crate::history::{Event, common_events, config, events};
use crate::server::{Server, ready, wait};

/// Does something while the server's memory is full.
fn full<T>(server: &Server, work: impl FnOnce() -> T) -> T {
    let set = |bytes: &str| {
        server.send::<()>(redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg(bytes).take());
    };
    set("1");
    let done = work();
    set("0");
    done
}

/// Whether it was refused for want of memory, known to have charged nothing.
fn is_refused<T>(came: &Result<T, StoreError>) -> bool {
    matches!(came, Err(StoreError::Unavailable { kind: "OOM", maybe_charged: false, .. }))
}

/// Every other event finds the memory full. What is refused has not happened; all else is as the reference store has it.
fn go(server: &Server, history: &[Event], refused: &Cell<u32>) -> Result<(), TestCaseError> {
    let settings = Settings { prefix: Server::prefix(), clock: Clock::Given, ..Settings::default() };
    let store = Redis::new(server.clone(), &settings);
    let mut course = Course::new();
    for (number, event) in (1..).zip(history) {
        let (plan, ended) = course.next(number, event);
        let (now, what) = (course.now, &event.what);
        for plan in ended {
            wait(store.read(&plan, now)).ok();
        }
        let Some(plan) = plan else { continue };
        let before = server.written(&settings.prefix);
        let ours = || wait(act(&store, what, &plan, now));
        let ours = if number.is_multiple_of(2) { full(server, ours) } else { ours() };
        if is_refused(&ours) {
            prop_assert_eq!(&before, &server.written(&settings.prefix), "event {}: {:?}", number, event);
            refused.set(refused.get() + 1);
        } else {
            prop_assert_eq!(ours, course.expected(what, &plan), "event {}: {:?}", number, event);
        }
    }
    Ok(())
}

fn run(server: &Server, histories: impl Strategy<Value = Vec<Event>>) {
    let refused = Cell::new(0);
    proptest!(config(), |(history in histories)| go(server, &history, &refused)?);
    assert!(refused.get() > 50, "the memory was hardly ever full: {}", refused.get());
}

#[test]
fn redis_without_memory_writes_all_or_nothing() {
    let server = Server::redis();
    run(&server, events(2));
    run(&server, common_events(2));
}

#[test]
fn valkey_without_memory_writes_all_or_nothing() {
    let server = Server::valkey();
    run(&server, events(2));
    run(&server, common_events(2));
}

/// A server as if every home had a slot, and a node, of its own.
#[derive(Clone)]
struct Apart(Server);

impl Caller for Apart {
    async fn call(&self, call: Call) -> Result<redis::Value, CallError> {
        self.0.call(call).await
    }

    fn are_neighbours(&self, _: &[u8], _: &[u8]) -> bool {
        false
    }
}

fn several_homes(ticket: u128) -> Plan {
    let mut plan = Plan::new();
    let minute = Duration::from_secs(60);
    let limits =
        [Limit::sliding_log(9, minute), Limit::concurrency(9, minute), Limit::sliding_window(9, minute)];
    for (home, limit) in (0..).zip(limits) {
        plan.charge(Key { home: &[&[home]], own: &[b"limit"] }, limit.unwrap(), 2).unwrap();
    }
    let key = Key { home: &[b"acme"], own: &[&ticket.to_be_bytes()] }.encode().unwrap();
    plan.set_idempotency(Idempotency { key, keep_us: 10_000_000, asked: None });
    plan.set_ticket(Ticket(ticket));
    plan
}

#[test]
fn several_homes_without_memory_keep_what_they_have_and_can_be_settled() {
    let server = Server::redis();
    let settings = Settings { prefix: Server::prefix(), clock: Clock::Given, ..Settings::default() };
    let store = Redis::new(Apart(server.clone()), &settings);
    let now = Timestamp::from_micros(1_790_000_000_000_123);
    let hold = Hold { term_us: 5_000_000, at_end: AtEnd::GiveBack };
    assert!(ready(store.decide(&several_homes(1), now)).unwrap().allowed());
    assert!(ready(store.reserve(&several_homes(2), hold, now)).unwrap().allowed());
    let before = server.written(&settings.prefix);
    full(&server, || {
        assert!(is_refused(&ready(store.decide(&several_homes(3), now))));
        assert!(is_refused(&ready(store.reserve(&several_homes(4), hold, now))));
        assert!(is_refused(&ready(store.refund(&several_homes(1), now, now))));
        assert_eq!(before, server.written(&settings.prefix));
        let settled = ready(store.commit(Ticket(2), &[1, 1, 1], now));
        assert!(matches!(settled, Ok(Settlement::Settled(_))), "{settled:?}");
    });
    let left = ready(store.read(&several_homes(5), now)).unwrap();
    assert_eq!(
        left.verdicts.iter().map(|verdict| verdict.remaining).collect::<Vec<_>>(),
        [6, 7, 6],
        "a slot is given back whole"
    );
}
