//! The store beside the reference store: the same random history, verdict by verdict and state by state, while limits change
//! their numbers, loans end, values run over, and the clock jumps ahead. It does not step back: a counter that has emptied may
//! be gone or not, and only one that is not would count again.

use proptest::prelude::*;
use tidegate_core::{Key, Plan, State, Ticket, Timestamp};
use tidegate_redis::Redis;
use tidegate_store::{Reference, Store as _};

use crate::course::{Course, act};
use crate::history::{Event, What, common_events, config, events};
use crate::server::{Server, wait};

const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_123);

struct Pair {
    redis: Redis<Server>,
    /// Another node, which remembers nothing of what the first reserved.
    other: Redis<Server>,
    course: Course,
}

impl Pair {
    fn go(&mut self, number: u64, event: &Event) -> Result<(), TestCaseError> {
        let (plan, ended) = self.course.next(number, event);
        let (now, what) = (self.course.now, &event.what);
        for plan in ended {
            wait(self.redis.read(&plan, now)).ok();
        }
        let Some(plan) = plan else { return Ok(()) };
        let node = match what {
            What::Settle { which, .. } if which.is_multiple_of(3) => &self.other,
            _ => &self.redis,
        };
        prop_assert_eq!(wait(act(node, what, &plan, now)), self.course.expected(what, &plan));
        // Of a reservation that had ended nothing was asked.
        if matches!(what, What::Settle { .. }) { Ok(()) } else { self.compare_states(&plan) }
    }

    fn compare_states(&self, plan: &Plan) -> Result<(), TestCaseError> {
        for charge in plan.charges() {
            let ours = wait(self.redis.state(charge.key, charge.limit)).unwrap();
            let theirs = self.course.reference.state(charge.key);
            prop_assert_eq!(self.counting(ours), self.counting(theirs), "{:?}", charge.limit);
        }
        Ok(())
    }

    /// A state that has emptied is as good as none.
    fn counting(&self, state: State) -> State {
        if state.empty_at() > self.course.now { state } else { State::EMPTY }
    }
}

fn compare(server: &Server, history: &[Event]) -> Result<(), TestCaseError> {
    let (redis, other) = server.two_nodes();
    let mut pair = Pair { redis, other, course: Course::new() };
    for (number, event) in (1..).zip(history) {
        pair.go(number, event)
            .map_err(|error| TestCaseError::fail(format!("event {number}: {event:?}: {error}")))?;
    }
    Ok(())
}

fn run(server: &Server, histories: impl Strategy<Value = Vec<Event>>) {
    proptest!(config(), |(history in histories)| compare(server, &history)?);
}

#[test]
fn redis_decides_as_the_reference_store_does() {
    let server = Server::redis();
    run(&server, events(3));
    run(&server, events(1));
    run(&server, common_events(1));
    run(&server, common_events(3));
}

#[test]
fn valkey_decides_as_the_reference_store_does() {
    let server = Server::valkey();
    run(&server, events(2));
    run(&server, common_events(2));
}

/// One entity with more limits than a value has entries.
#[test]
fn values_that_run_over_are_decided_alike() {
    let server = Server::redis();
    let (redis, _) = server.two_nodes();
    let reference = Reference::new();
    let mut now = START;
    for round in 0..4_000_u64 {
        now = now.plus_us(round % 97 * 1_000);
        let mut plan = Plan::new();
        plan.set_ticket(Ticket(round.into()));
        for step in 0..=round % 5 {
            let name = [u8::try_from((round * 7 + step * 13) % 60).unwrap()];
            let key = Key { home: &[b"acme"], own: &[&name, b"bob"] };
            plan.charge(key, crate::history::limit(usize::from(name[0]) % 5, 0), 1).unwrap_or_default();
        }
        assert_eq!(wait(redis.decide(&plan, now)), reference.decide_now(&plan, now), "round {round}");
        for charge in plan.charges() {
            let (ours, theirs) =
                (wait(redis.state(charge.key, charge.limit)).unwrap(), reference.state(charge.key));
            let counts = |state: &State| state.empty_at() > now;
            assert_eq!(Some(ours).filter(counts), Some(theirs).filter(counts), "round {round}");
        }
    }
}
