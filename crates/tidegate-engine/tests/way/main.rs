//! The way of a check from rules as written to decisions.

mod rules;
mod tenants;
mod trees;
mod short_ways;
mod trouble;
mod last_resort;
mod throttles;
mod waiting;
mod switches;
mod explanations;
mod soak;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tidegate_core::Timestamp;
use tidegate_engine::{Check, Decision, Descriptor, Engine, Malformed, Outcome};
use tidegate_rules::{Source, compile};
use tidegate_store::{Memory, Store};

/// A Monday, noon in UTC.
const START: Timestamp = Timestamp::from_micros(1_790_596_800_000_000);
const SECOND: u64 = 1_000_000;

/// An embedded store answers at once.
fn wait<F: Future>(future: F) -> F::Output {
    match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("an embedded store answers at once"),
    }
}

struct Way<S = Memory> {
    engine: Engine<S>,
    now: Timestamp,
}

type Pairs<'a> = &'a [(&'a str, &'a str)];

impl Way {
    fn new(rules: &str) -> Self {
        Self::over(Memory::new(), rules)
    }
}

impl<S: Store> Way<S> {
    fn over(store: S, rules: &str) -> Self {
        let way = Self { engine: Engine::new(store), now: START };
        way.install(rules);
        way
    }

    fn install(&self, rules: &str) {
        let compiled = compile(vec![Source::new("api.yaml", format!("domain: api\n{rules}"))]);
        let version = self.engine.snapshot().version() + 1;
        let text = compiled.render();
        self.engine.install(compiled.snapshot.unwrap_or_else(|| panic!("{text}")).with_version(version));
    }

    fn pass(&mut self, seconds: u64) {
        self.now = self.now.plus_us(seconds * SECOND);
    }

    fn ask(&self, check: &Check<'_>) -> Result<Decision, Malformed> {
        wait(self.engine.check(check, self.now))
    }

    fn check(&self, attributes: Pairs<'_>) -> Decision {
        self.ask(&Check { attributes, ..Check::new("api") }).expect("a sound check")
    }

    fn allows(&self, attributes: Pairs<'_>) -> bool {
        self.check(attributes).allowed()
    }

    /// How many of these in a row pass, up to 20.
    fn passing(&self, attributes: Pairs<'_>) -> usize {
        (0..20).take_while(|_| self.allows(attributes)).count()
    }

    fn descriptors(&self, descriptors: &[Pairs<'_>]) -> Decision {
        let descriptors: Vec<_> = descriptors.iter().map(|entries| Descriptor::new(entries)).collect();
        self.ask(&Check { descriptors: &descriptors, ..Check::new("api") }).expect("a sound check")
    }
}

fn denied_by(decision: &Decision) -> Vec<String> {
    decision.denied_by().map(|rule| rule.name.to_owned()).collect()
}

fn remaining(decision: &Decision) -> Vec<(String, u64)> {
    decision.limits().map(|view| (view.policy().to_owned(), view.verdict.remaining)).collect()
}

#[track_caller]
fn assert_denied(decision: &Decision, rule: &str, reason: &str) {
    assert_eq!(
        (decision.outcome, denied_by(decision)),
        (Outcome::Deny, vec![rule.to_owned()]),
        "{decision:?}"
    );
    assert_eq!(decision.reason(), reason);
}
