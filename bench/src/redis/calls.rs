//! Plans as the commands that the store would send: its own calls, kept before they are sent.

use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use anyhow::{Context, Result};
use tidegate_core::{Key, Limit, Plan, Rate, Timestamp};
use tidegate_redis::{Call, CallError, Caller, Fault, Redis, Settings};
use tidegate_rig::Server;
use tidegate_store::Store as _;

/// Keeps a call, and says that it cannot be made.
#[derive(Default)]
struct Keeping(Mutex<Option<Call>>);

impl Caller for Keeping {
    async fn call(&self, call: Call) -> Result<redis::Value, CallError> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
        Err(CallError { shard: String::new(), fault: Fault::Disconnected, may_have_run: false })
    }

    fn are_neighbours(&self, _: &[u8], _: &[u8]) -> bool {
        true
    }
}

/// Makes calls of plans.
pub(super) struct Calls(Redis<Keeping>);

impl Calls {
    pub(super) fn new() -> Self {
        Self(Redis::new(Keeping::default(), &Settings::default()))
    }

    /// The call that decides a plan.
    pub(super) fn decide(&self, plan: &Plan) -> Result<Call> {
        self.kept(self.0.decide(plan, Timestamp::ZERO))
    }

    /// The call that gives its slots back.
    pub(super) fn release(&self, plan: &Plan) -> Result<Call> {
        self.kept(self.0.release(plan, Timestamp::ZERO))
    }

    fn kept<T>(&self, asked: impl Future<Output = T>) -> Result<Call> {
        let asked = pin!(asked).poll(&mut TaskContext::from_waker(Waker::noop()));
        let kept = self.0.caller().0.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.filter(|_| matches!(asked, Poll::Ready(_))).context("the store makes one call of a plan")
    }
}

/// Gives a server the scripts that calls name.
pub(super) fn load_scripts(server: &Server) {
    for script in tidegate_redis::scripts() {
        let _: String = server.ask(&["SCRIPT", "LOAD", script.text]);
    }
}

/// One command that runs all calls, as the client writes it; they are of one script, and more than one only if it joins.
pub(super) fn run(calls: &[Call]) -> Vec<u8> {
    let keys: Vec<&[u8]> = calls.iter().flat_map(|call| &call.keys).map(Vec::as_slice).collect();
    let count = keys.len().to_string();
    let arguments = tidegate_redis::told(calls.iter());
    let head = [b"EVALSHA", calls[0].script.sha.as_bytes(), count.as_bytes()];
    command(&head.into_iter().chain(keys).chain(arguments).collect::<Vec<_>>())
}

/// A command as it travels.
pub(super) fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).into_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// A check of an entity: each limit has another name.
pub(super) fn plan(limits: &[Limit], entity: usize) -> Result<Plan> {
    plan_at(limits, entity, 1)
}

/// The same at another cost.
pub(super) fn plan_at(limits: &[Limit], entity: usize, cost: u64) -> Result<Plan> {
    let (tenant, user) = (format!("tenant-{entity}"), format!("user:{entity:08}"));
    let mut plan = Plan::new();
    for (index, limit) in limits.iter().enumerate() {
        let name = format!("limit-{index}");
        let key = Key { home: &[b"bench", tenant.as_bytes()], own: &[name.as_bytes(), user.as_bytes()] };
        plan.charge(key, *limit, cost)?;
    }
    Ok(plan)
}

/// Four limits that no check of this program meets: 100 a second, and slower ones.
pub(super) fn four() -> Result<[Limit; 4]> {
    let gcra = |seconds| Ok(Limit::gcra(Rate::new(100, Duration::from_secs(seconds))?, 100_000)?);
    let made: Vec<Limit> = [1, 2, 5, 10].into_iter().map(gcra).collect::<Result<_>>()?;
    made.try_into().ok().context("four were made")
}
