//! The way of one call: to the server that the map names, and on to where that one sends it, until the deadline.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::address::Layout;
use super::map;
use super::node::{Manner, Node};
use super::reply::Reply;
use super::slots::slot_of_key;
use super::topology::Topology;
use super::trouble::Trouble;
use crate::{Call, CallError, Fault};

/// Redirections that are followed.
const HOPS: u32 = 2;
/// How long a slot on its way is given before it is tried once more.
const A_MOMENT: Duration = Duration::from_micros(1500);
/// The name in errors of a server that is not known.
const NOBODY: &str = "none";

/// Runs a call.
pub(crate) async fn run(topology: &Topology, call: Arc<Call>, deadline: Instant) -> Result<Value, CallError> {
    let node = owner(topology, &call)?;
    let manner = Manner::Plain;
    let mut way = Way { topology, call, deadline, node, manner, hops: 0, paused: false, looked: false };
    loop {
        let outcome = way.node.run(&way.call, way.manner, deadline).await;
        let reply = outcome.inspect_err(|error| way.doubt(error.fault))?;
        if let Reply::Answer(answer) = reply {
            return Ok(answer);
        }
        // Apart, so that the common way does not carry its room about.
        if let Some(answer) = Box::pin(way.follow(reply)).await? {
            return Ok(answer);
        }
    }
}

/// One call under way, and what was tried for it so far.
struct Way<'topology> {
    topology: &'topology Topology,
    call: Arc<Call>,
    deadline: Instant,
    node: Arc<Node>,
    manner: Manner,
    hops: u32,
    paused: bool,
    looked: bool,
}

impl Way<'_> {
    /// The answer, or nothing when it was sent on. Whatever is sent on has not run.
    async fn follow(&mut self, reply: Reply) -> Result<Option<Value>, CallError> {
        match reply {
            Reply::Answer(value) => return Ok(Some(value)),
            Reply::Moved(place) => self.move_on(&place, Manner::Plain, "MOVED").await?,
            Reply::Ask(place) => self.move_on(&place, Manner::Asking, "ASK").await?,
            Reply::TryAgain => self.pause().await?,
            Reply::ReadOnly => self.look_again().await?,
            Reply::NoScript => return Err(self.refused("NOSCRIPT")),
            Reply::Refused(refusal) => {
                let fault = Fault::Refused(refusal.kind);
                self.doubt(fault);
                return Err(Trouble { fault, may_have_run: refusal.may_have_run }.at(self.node.name()));
            }
        }
        Ok(None)
    }

    /// Goes to the server that the last one named; waits for a connection to one that was not known.
    async fn move_on(&mut self, place: &str, manner: Manner, word: &'static str) -> Result<(), CallError> {
        let target = map::place(place, &self.node.place);
        if manner == Manner::Plain {
            self.topology.want();
        }
        let target = target.filter(|_| self.topology.layout == Layout::Cluster && self.hops < HOPS);
        self.node = self.topology.nodes.at(&target.ok_or_else(|| self.refused(word))?);
        self.manner = manner;
        self.hops += 1;
        // Whether it is connected or not is seen when the call is sent.
        drop(timeout_at(self.deadline, self.node.up()).await);
        Ok(())
    }

    /// Waits a moment, once.
    async fn pause(&mut self) -> Result<(), CallError> {
        let end = Instant::now() + A_MOMENT;
        if std::mem::replace(&mut self.paused, true) || end >= self.deadline {
            return Err(self.refused("TRYAGAIN"));
        }
        sleep_until(end).await;
        Ok(())
    }

    /// Waits until it was looked who the master is, once.
    async fn look_again(&mut self) -> Result<(), CallError> {
        let refused = self.refused("READONLY");
        if std::mem::replace(&mut self.looked, true) || self.topology.layout == Layout::Single {
            return Err(refused);
        }
        if timeout_at(self.deadline, self.topology.look()).await.is_err() {
            return Err(refused);
        }
        self.node = owner(self.topology, &self.call)?;
        Ok(())
    }

    /// Has it looked whether somebody else should be asked, after a fault that could mean that.
    fn doubt(&self, fault: Fault) {
        let doubtful = match fault {
            Fault::TimedOut => !self.node.is_well(),
            Fault::Disconnected | Fault::Garbled => true,
            Fault::Refused(kind) => matches!(kind, "CLUSTERDOWN" | "MASTERDOWN" | "LOADING"),
            Fault::Resting | Fault::Crowded | Fault::NewerFormat | Fault::InProgress => false,
        };
        if doubtful {
            self.topology.want();
        }
    }

    fn refused(&self, kind: &'static str) -> CallError {
        Trouble::before_sending(Fault::Refused(kind)).at(self.node.name())
    }
}

fn owner(topology: &Topology, call: &Call) -> Result<Arc<Node>, CallError> {
    let map = topology.map();
    let slot = || call.keys.first().map_or(0, |key| slot_of_key(key));
    let found = map.node_of(slot).cloned();
    found.ok_or_else(|| {
        let fault = if map.nodes.is_empty() { Fault::Disconnected } else { Fault::Refused("CLUSTERDOWN") };
        Trouble::before_sending(fault).at(NOBODY)
    })
}
