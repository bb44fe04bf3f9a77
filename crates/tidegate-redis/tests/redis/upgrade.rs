//! Two versions of the state format on one server: nodes of this version beside nodes of a next one, made of the same scripts with
//! one more field in every counter's value.
//!
//! What makes it go: a node reads its own version and the one before, and writes the newest that all members know. Here, as
//! in a rolling upgrade, nodes are replaced one by one, then raise what they write one by one, and then it is all taken back.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use redis::Value;
use tidegate_core::Plan;
use tidegate_redis::{Call, CallError, Caller, Clock, Redis, Script, Settings, scripts};
use tidegate_store::StoreError;

use crate::course::{Came, Course, act};
use crate::history::{Event, What, common_events, config, events};
use crate::server::{Server, wait};

/// A node: what it knows, and what it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    /// Of this version.
    Old,
    /// Of the next version, and writes this one.
    NextWritesOld,
    /// Of the next version, and writes that.
    NextWritesNext,
}

use Node::{NextWritesNext, NextWritesOld, Old};

/// Two nodes over time, while a next version is rolled out.
const FORTH: [[Node; 2]; 5] = [
    [Old, Old],
    [Old, NextWritesOld],
    [NextWritesOld, NextWritesOld],
    [NextWritesOld, NextWritesNext],
    [NextWritesNext, NextWritesNext],
];

/// And while it is taken back.
const BACK: [[Node; 2]; 5] = [
    [NextWritesNext, NextWritesNext],
    [NextWritesNext, NextWritesOld],
    [NextWritesOld, NextWritesOld],
    [NextWritesOld, Old],
    [Old, NextWritesOld],
];

/// The general script of a next version: reads both, writes that one.
fn next_general(writes: u8) -> Script {
    let mut text = scripts()[1].text.to_owned();
    for (this, next) in [
        (
            "local VERSION, MOST_ENTRIES, LOAN = 1, 16, 98",
            format!("local VERSION, MOST_ENTRIES, LOAN = {writes}, 16, 98"),
        ),
        ("if version == VERSION then", "if version == 1 or version == 2 then".to_owned()),
        (
            "local version, flags, at = read('<BB', value)",
            "local version, flags, at = read('<BB', value) at = version == 2 and at + 4 or at".to_owned(),
        ),
        (
            "return pack('<BB', VERSION, flags) .. more",
            "return pack('<BB', VERSION, flags) .. (VERSION == 2 and 'next' or '') .. more".to_owned(),
        ),
    ] {
        assert_eq!(text.matches(this).count(), 1, "{this}");
        text = text.replace(this, &next);
    }
    // No server has it under this name; then it is sent as it is.
    Script { text: text.leak(), sha: "0000000000000000000000000000000000000000", joins: false }
}

static NEXT_WRITES_OLD: LazyLock<Script> = LazyLock::new(|| next_general(1));
static NEXT_WRITES_NEXT: LazyLock<Script> = LazyLock::new(|| next_general(2));

/// Brings calls to the server as a node of that kind would.
struct Brings(Server, Node);

impl Caller for Brings {
    async fn call(&self, mut call: Call) -> Result<Value, CallError> {
        if std::ptr::eq(call.script, scripts()[1]) {
            call.script = match self.1 {
                Old => call.script,
                NextWritesOld => &NEXT_WRITES_OLD,
                NextWritesNext => &NEXT_WRITES_NEXT,
            };
        } else if call.script.joins && self.1 == NextWritesNext {
            // The common check of that version is not written; this one's would write this version.
            let nothing = vec![Value::Nil; call.keys.len()];
            return Ok(if nothing.len() == 1 { Value::Nil } else { Value::Array(nothing) });
        }
        let reply = self.0.call(call).await?;
        Ok(if self.1 == Old { reply } else { read_as_next(reply) })
    }

    fn are_neighbours(&self, _: &[u8], _: &[u8]) -> bool {
        true
    }
}

/// What is fetched (a plan that is written down) has the same layout in both versions.
fn read_as_next(reply: Value) -> Value {
    match reply {
        Value::BulkString(mut bytes) if bytes.first() == Some(&2) => {
            bytes[0] = 1;
            Value::BulkString(bytes)
        }
        other => other,
    }
}

struct Roll<'server> {
    server: &'server Server,
    settings: Settings,
    nodes: [Node; 2],
    stores: [Redis<Brings>; 2],
    course: Course,
    /// How often an old node met what it does not know.
    newer: &'server AtomicU32,
}

impl<'server> Roll<'server> {
    fn new(server: &'server Server, nodes: [Node; 2], newer: &'server AtomicU32) -> Self {
        let settings = Settings { prefix: Server::prefix(), clock: Clock::Given, ..Settings::default() };
        let stores = nodes.map(|node| Redis::new(Brings(server.clone(), node), &settings));
        Self { server, settings, nodes, stores, course: Course::new(), newer }
    }

    /// A node that becomes another one is started anew, and remembers nothing.
    fn become_nodes(&mut self, nodes: [Node; 2]) {
        for (index, node) in nodes.into_iter().enumerate() {
            if self.nodes[index] != node {
                self.stores[index] = Redis::new(Brings(self.server.clone(), node), &self.settings);
            }
        }
        self.nodes = nodes;
    }

    fn go(&mut self, number: u64, event: &Event) -> Result<(), TestCaseError> {
        let (plan, ended) = self.course.next(number, event);
        for plan in ended {
            self.ask(number, &What::Read, &plan).ok();
        }
        let Some(plan) = plan else { return Ok(()) };
        let ours = self.ask(number, &event.what, &plan);
        prop_assert_eq!(ours, self.course.expected(&event.what, &plan), "{:?}", self.nodes);
        Ok(())
    }

    /// Asks one of the nodes; the other one if that does not know the format, which must have charged nothing.
    fn ask(&self, number: u64, what: &What, plan: &Plan) -> Result<Came, StoreError> {
        let one = usize::from(number.is_multiple_of(3));
        let came = wait(act(&self.stores[one], what, plan, self.course.now));
        if matches!(came, Err(StoreError::Unavailable { kind: "newer_format", maybe_charged: false, .. })) {
            assert_eq!(self.nodes[one], Old);
            self.newer.fetch_add(1, Ordering::Relaxed);
            return wait(act(&self.stores[1 - one], what, plan, self.course.now));
        }
        came
    }
}

/// How often nodes met what they did not know, over many histories.
fn roll(server: &Server, stages: &[[Node; 2]], histories: impl Strategy<Value = Vec<Event>>) -> u32 {
    let newer = AtomicU32::new(0);
    proptest!(config(), |(history in histories)| {
        let mut roll = Roll::new(server, stages[0], &newer);
        for (number, event) in (1..).zip(&history) {
            roll.become_nodes(stages[(number - 1) * stages.len() / history.len()]);
            let number = number as u64;
            roll.go(number, event).map_err(|error| TestCaseError::fail(format!("event {number}: {event:?}: {error}")))?;
        }
    });
    newer.into_inner()
}

#[test]
fn while_a_format_is_rolled_out_every_answer_is_exact() {
    let server = Server::redis();
    assert_eq!(roll(&server, &FORTH, events(2)), 0);
    assert_eq!(roll(&server, &FORTH, common_events(2)), 0);
}

#[test]
fn when_a_format_is_taken_back_only_nodes_that_do_not_know_it_do_without() {
    let server = Server::redis();
    roll(&server, &BACK, events(2));
    assert!(roll(&server, &BACK, common_events(2)) > 0);
}
