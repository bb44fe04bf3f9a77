//! The store beside the reference store: the same random history, verdict by verdict and state by state, while limits change
//! their numbers, loans end, values run over, and the clock jumps ahead. It does not step back: a counter that has emptied may
//! be gone or not, and only one that is not would count again.

use proptest::prelude::*;
use tidegate_core::{Key, Plan, State, Ticket, Timestamp};
use tidegate_redis::Redis;
use tidegate_store::{AtEnd, Hold, Reference, Store as _};

use crate::history::{Event, What, common_events, events, plan};
use crate::server::{Server, wait};

const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_123);

struct Pair {
    redis: Redis<Server>,
    /// Another node, which remembers nothing of what the first reserved.
    other: Redis<Server>,
    reference: Reference,
    reserved: Vec<Plan>,
    /// Loans and their ends. The reference store gives all back at once; here each comes back when its counter is next asked,
    /// at the rate of its own limit until then.
    lent: Vec<(Timestamp, Plan)>,
    now: Timestamp,
}

impl Pair {
    fn go(&mut self, number: u64, event: &Event) -> Result<(), TestCaseError> {
        self.now = self.now.plus_us(event.pause_us);
        // Gives back what has ended, as every store does before it is asked.
        self.reference.read_now(&Plan::new(), self.now).unwrap();
        self.look_at_loans();
        let plan = plan(event, number);
        match &event.what {
            What::Settle { which, times } => self.settle(*which, *times),
            _ => self.go_with(event, &plan),
        }
    }

    fn look_at_loans(&mut self) {
        let (redis, now) = (&self.redis, self.now);
        for (_, plan) in self.lent.extract_if(.., |(end, _)| *end <= now) {
            wait(redis.read(&plan, now)).ok();
        }
    }

    fn go_with(&mut self, event: &Event, plan: &Plan) -> Result<(), TestCaseError> {
        let (now, redis, reference) = (self.now, &self.redis, &self.reference);
        match event.what {
            What::Decide => {
                prop_assert_eq!(wait(redis.decide(plan, now)), reference.decide_now(plan, now));
            }
            What::Read => prop_assert_eq!(wait(redis.read(plan, now)), reference.read_now(plan, now)),
            What::Refund { before_us } => {
                let charged_at = now.minus_us(before_us);
                let ours = wait(redis.refund(plan, charged_at, now));
                prop_assert_eq!(ours, reference.refund_now(plan, charged_at, now));
            }
            What::Release => {
                prop_assert_eq!(wait(redis.release(plan, now)), Ok(reference.release_now(plan, now)));
            }
            What::Renew => prop_assert_eq!(wait(redis.renew(plan, now)), Ok(reference.renew_now(plan, now))),
            What::Raise => prop_assert_eq!(wait(redis.raise(plan, now)), reference.raise_now(plan, now)),
            What::Reset => {
                wait(redis.reset(plan, now)).unwrap();
                reference.reset_now(plan, now);
            }
            What::Reserve { term_us, lent } => {
                let at_end = if lent { AtEnd::GiveBack } else { AtEnd::Keep };
                let hold = Hold { term_us, at_end };
                let ours = wait(redis.reserve(plan, hold, now));
                prop_assert_eq!(&ours, &reference.reserve_now(plan, hold, now));
                if ours.is_ok_and(|answer| answer.allowed() && !answer.replayed) {
                    self.lent.extend(lent.then(|| (now.plus_us(term_us), plan.clone())));
                    self.reserved.push(plan.clone());
                }
            }
            What::Settle { .. } => {}
        }
        self.compare_states(plan)
    }

    fn settle(&mut self, which: usize, times: Option<u64>) -> Result<(), TestCaseError> {
        if self.reserved.is_empty() {
            return Ok(());
        }
        let plan = self.reserved[which % self.reserved.len()].clone();
        let (now, ticket) = (self.now, plan.ticket());
        let node = if which.is_multiple_of(3) { &self.other } else { &self.redis };
        if let Some(times) = times {
            let costs: Vec<u64> = plan.charges().map(|charge| charge.cost * times / 2).collect();
            let ours = wait(node.commit(ticket, &costs, now));
            prop_assert_eq!(ours, self.reference.commit_now(ticket, &costs, now));
        } else {
            prop_assert_eq!(wait(node.cancel(ticket, now)), Ok(self.reference.cancel_now(ticket, now)));
        }
        // Of those that had ended nothing was asked.
        Ok(())
    }

    fn compare_states(&self, plan: &Plan) -> Result<(), TestCaseError> {
        for charge in plan.charges() {
            let ours = wait(self.redis.state(charge.key, charge.limit)).unwrap();
            let theirs = self.reference.state(charge.key);
            prop_assert_eq!(self.counting(ours), self.counting(theirs), "{:?}", charge.limit);
        }
        Ok(())
    }

    /// A state that has emptied is as good as none.
    fn counting(&self, state: State) -> State {
        if state.empty_at() > self.now { state } else { State::EMPTY }
    }
}

fn compare(server: &Server, history: &[Event]) -> Result<(), TestCaseError> {
    let (redis, other) = server.two_nodes();
    let (reserved, lent) = (Vec::new(), Vec::new());
    let mut pair = Pair { redis, other, reference: Reference::new(), reserved, lent, now: START };
    for (number, event) in (1..).zip(history) {
        pair.go(number, event)
            .map_err(|error| TestCaseError::fail(format!("event {number}: {event:?}: {error}")))?;
    }
    Ok(())
}

fn run(server: &Server, histories: impl Strategy<Value = Vec<Event>>) {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24);
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    };
    proptest!(config, |(history in histories)| compare(server, &history)?);
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
