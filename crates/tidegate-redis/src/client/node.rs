//! One server: its connections, how many calls are under way to it, and its circuit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use redis::{Cmd, Value};
use tidegate_core::breaker::Circuit;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::address::Place;
use super::connector::Recipe;
use super::counts::{Counts, ShardReport};
use super::health::{Attempt, Health};
use super::joiner::{Joiner, run_alone};
use super::lane;
use super::link::Link;
use super::reply::Reply;
use super::settings::Settings;
use super::trouble::Trouble;
use crate::{Call, CallError, Fault, Priority};

/// A server that is asked.
pub(crate) struct Node {
    pub(crate) place: Place,
    /// By their lanes.
    links: Vec<Vec<Arc<Joiner>>>,
    turn: AtomicUsize,
    in_flight: AtomicUsize,
    room: usize,
    health: Arc<Health>,
}

/// What a server is told of a call's right to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Nothing: it has the key.
    Plain,
    /// That it has the key only for now. Such a call travels alone.
    Asking,
}

impl Node {
    /// Begins to connect.
    pub(crate) fn start(
        runtime: &Handle,
        place: Place,
        recipe: &Arc<Recipe>,
        settings: &Settings,
        counts: Arc<Counts>,
    ) -> Arc<Self> {
        let health = Arc::new(Health::new(place.to_string(), settings.tolerance, counts));
        let lanes = if settings.lanes.is_empty() { std::slice::from_ref(runtime) } else { &settings.lanes };
        let link = |lane: &Handle| {
            let link = Link::start(lane, place.clone(), Arc::clone(recipe), Arc::clone(&health));
            Joiner::new(link, recipe.joins, lane.clone())
        };
        let links = lanes.iter().map(|lane| (0..settings.connections.max(1)).map(|_| link(lane)).collect());
        let links = links.collect();
        let room = settings.calls_in_flight.max(1);
        Arc::new(Self {
            place,
            links,
            turn: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            room,
            health,
        })
    }

    /// Its name in metrics and errors.
    pub(crate) fn name(&self) -> &str {
        self.health.name()
    }

    /// Runs a call, unless the server rests or has enough to do. Waits until the deadline.
    pub(crate) async fn run(
        &self,
        call: &Arc<Call>,
        manner: Manner,
        deadline: Instant,
    ) -> Result<Reply, CallError> {
        let at = |trouble: Trouble| trouble.at(self.name());
        let _seat = self.seat(call.priority).map_err(at)?;
        let mut attempt = self.attempt().map_err(at)?;
        let joiner = self.next_link();
        let outcome = match manner {
            Manner::Plain => joiner.run(call, deadline).await,
            Manner::Asking => Box::pin(run_alone(joiner.link(), call, true, deadline)).await,
        };
        learn(&outcome, &mut attempt, joiner.link());
        outcome.map_err(at)
    }

    /// Asks something that changes nothing, outside of all counting.
    pub(crate) async fn ask(&self, command: &Cmd) -> Option<Value> {
        let line = self.next_link().link().line().ok()?;
        match line.ask(command).await {
            Ok(Reply::Answer(value)) => Some(value),
            _ => None,
        }
    }

    /// Whether there is a connection and the circuit is closed.
    pub(crate) fn is_well(&self) -> bool {
        self.is_connected() && self.health.circuit() == Circuit::Closed
    }

    /// Waits until there is a connection.
    pub(crate) async fn up(&self) {
        for joiner in self.links.iter().flatten() {
            joiner.link().up().await;
        }
    }

    /// Puts what is so just now into a report.
    pub(crate) fn fill(&self, report: &mut ShardReport) {
        report.circuit = Some(self.health.circuit());
        report.connected = self.is_connected();
        report.down = self
            .links
            .iter()
            .flatten()
            .find_map(|joiner| joiner.link().line().err())
            .map(|trouble| trouble.fault);
        report.in_flight = self.in_flight.load(Ordering::Relaxed);
    }

    fn is_connected(&self) -> bool {
        self.links.iter().flatten().all(|joiner| joiner.link().is_up())
    }

    fn next_link(&self) -> &Arc<Joiner> {
        let turn = || self.turn.fetch_add(1, Ordering::Relaxed);
        let lane = &self.links[lane::own().unwrap_or_else(turn) % self.links.len()];
        if let [only] = lane.as_slice() { only } else { &lane[turn() % lane.len()] }
    }

    fn seat(&self, priority: Priority) -> Result<Seat<'_>, Trouble> {
        let taken = self.in_flight.fetch_add(1, Ordering::Relaxed);
        let seat = Seat(&self.in_flight);
        if taken < share(self.room, priority) {
            return Ok(seat);
        }
        self.health.failed(Fault::Crowded);
        Err(Trouble::before_sending(Fault::Crowded))
    }

    fn attempt(&self) -> Result<Attempt<'_>, Trouble> {
        self.health.admit().ok_or_else(|| {
            self.health.failed(Fault::Resting);
            Trouble::before_sending(Fault::Resting)
        })
    }
}

/// Tells the circuit how a call ended, and has a connection looked at that may hang.
fn learn(outcome: &Result<Reply, Trouble>, attempt: &mut Attempt<'_>, link: &Link) {
    match outcome {
        Ok(Reply::Refused(refusal)) => attempt.refused(Fault::Refused(refusal.kind), refusal.ails),
        Ok(Reply::ReadOnly) => attempt.refused(Fault::Refused("READONLY"), true),
        Ok(_) => attempt.answered(),
        Err(trouble) => {
            attempt.failed(trouble.fault);
            if trouble.fault == Fault::TimedOut {
                link.suspect();
            }
        }
    }
}

/// The part of the room that calls of this priority may fill.
fn share(room: usize, priority: Priority) -> usize {
    let eighths = match priority {
        Priority::Security => 8,
        Priority::Strict => 7,
        Priority::Cost => 6,
        Priority::Comfort => 4,
    };
    (room * eighths / 8).max(1)
}

/// One call under way.
struct Seat<'node>(&'node AtomicUsize);

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::share;
    use crate::Priority;

    #[test]
    fn who_matters_more_has_more_room() {
        let shares = [Priority::Security, Priority::Strict, Priority::Cost, Priority::Comfort]
            .map(|who| share(4096, who));
        assert_eq!(shares, [4096, 3584, 3072, 2048]);
        assert_eq!(share(1, Priority::Comfort), 1);
    }
}
