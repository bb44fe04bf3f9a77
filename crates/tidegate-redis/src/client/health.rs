//! What is known of a server's health: its circuit, and what is counted about it.

use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::Timestamp;
use tidegate_core::breaker::{Breaker, Circuit, Ending, Pass, Tolerance};
use tokio::time::Instant;

use super::counts::Counts;
use crate::Fault;

/// Health of one server.
pub(crate) struct Health {
    name: String,
    breaker: Mutex<Breaker>,
    counts: Arc<Counts>,
    birth: Instant,
}

impl Health {
    pub(crate) fn new(name: String, tolerance: Tolerance, counts: Arc<Counts>) -> Self {
        Self { name, breaker: Mutex::new(Breaker::new(tolerance)), counts, birth: Instant::now() }
    }

    /// The server's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What its circuit does.
    pub(crate) fn circuit(&self) -> Circuit {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner).circuit()
    }

    /// A call that may go out, or none.
    pub(crate) fn admit(&self) -> Option<Attempt<'_>> {
        let pass = self.with_breaker(Breaker::admit)?;
        Some(Attempt { health: self, pass, ending: Ending::Unknown })
    }

    /// A connection was made: one call may try at once.
    pub(crate) fn hope(&self) {
        self.with_breaker(Breaker::hope);
    }

    /// Counts what came to nothing.
    pub(crate) fn failed(&self, fault: Fault) {
        self.counts.failed(fault);
    }

    fn with_breaker<T>(&self, act: impl FnOnce(&mut Breaker, Timestamp) -> T) -> T {
        let now = Timestamp::from_micros(u64::try_from(self.birth.elapsed().as_micros()).unwrap_or(u64::MAX));
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        let before = breaker.circuit();
        let result = act(&mut breaker, now);
        let after = breaker.circuit();
        drop(breaker);
        if before != after {
            self.turned(before, after);
        }
        result
    }

    fn turned(&self, before: Circuit, after: Circuit) {
        self.counts.turned(after);
        tracing::info!(shard = %self.name, from = before.name(), to = after.name(), "the circuit changes");
    }
}

/// A call that is out. How it ends is told to the circuit when it is dropped.
pub(crate) struct Attempt<'health> {
    health: &'health Health,
    pass: Pass,
    ending: Ending,
}

impl Attempt<'_> {
    /// It had an answer.
    pub(crate) fn answered(&mut self) {
        self.ending = Ending::Answered;
        self.health.counts.answered();
    }

    /// It had an answer that shows that the server ails.
    pub(crate) fn refused(&mut self, fault: Fault, ails: bool) {
        self.ending = if ails { Ending::Failed } else { Ending::Answered };
        self.health.counts.failed(fault);
    }

    /// It had none.
    pub(crate) fn failed(&mut self, fault: Fault) {
        self.ending = if fault == Fault::TimedOut { Ending::TimedOut } else { Ending::Failed };
        self.health.counts.failed(fault);
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let (pass, ending) = (self.pass, self.ending);
        self.health.with_breaker(|breaker, now| breaker.end(pass, ending, now));
    }
}
