//! What a question over the Redis protocol allocates once its connection and its counter are there: nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tidegate_core::Timestamp;
use tidegate_engine::Engine;
use tidegate_frontend::resp::{Next, Service, Session};
use tidegate_frontend::{Door, DoorSettings};
use tidegate_rules::{Source, compile};
use tidegate_store::Memory;

const RULES: &str = "domain: api\nrules: [{ name: per-user, by: [user], limit: 1000000/s }]";

fn service() -> Service<Memory> {
    let engine = Engine::new(Memory::new());
    engine.install(compile(vec![Source::new("api.yaml", RULES)]).snapshot.unwrap());
    let clock = Arc::new(|| Timestamp::from_micros(1_800_000_000_000_000));
    Service::new(Door::new(Arc::new(engine), clock, DoorSettings::default()), None)
}

fn say(session: &mut Session<'_, Memory>, bytes: &[u8]) -> usize {
    session.room().unwrap().extend_from_slice(bytes);
    let answered = pin!(session.answer()).poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(answered, Poll::Ready(Next::Read));
    let replies = session.replies().len();
    session.sent();
    replies
}

fn check(command: &str) {
    let (service, sixteen) = (service(), command.repeat(16));
    let mut session = service.session();
    say(&mut session, sixteen.as_bytes());
    let counted = allocation_counter::measure(|| {
        for _ in 0..100 {
            assert!(say(&mut session, sixteen.as_bytes()) > 0);
        }
    });
    assert_eq!(counted.count_total, 0, "{command}");
}

#[test]
fn a_limit_that_the_caller_brings_allocates_nothing() {
    check("*5\r\n$11\r\nCL.THROTTLE\r\n$7\r\nuser123\r\n$6\r\n100000\r\n$3\r\n999\r\n$2\r\n60\r\n");
    check("*5\r\n$8\r\nTHROTTLE\r\n$7\r\nuser123\r\n$1\r\n1\r\n$1\r\n1\r\n$4\r\n3600\r\n");
}

#[test]
fn a_check_by_the_rules_allocates_nothing() {
    check("*6\r\n$8\r\nTG.CHECK\r\n$3\r\napi\r\n$4\r\nuser\r\n$5\r\nalice\r\n$4\r\npath\r\n$2\r\n/x\r\n");
}
