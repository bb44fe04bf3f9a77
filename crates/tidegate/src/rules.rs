//! Rule files as the server takes them, and its whole engine, in your process.
//!
//! ```
//! use tidegate::rules::{Check, Governor};
//!
//! let governor = Governor::from_text("domain: api\nrules: [{ name: per-user, by: [user], limit: 2/min }]")?;
//! let check = Check { attributes: &[("user", "alice")], ..Check::new("api") };
//! assert!(governor.check(&check)?.allowed());
//! assert!(governor.check(&check)?.allowed());
//! let refused = governor.check(&check)?;
//! assert!(!refused.allowed());
//! assert_eq!(refused.reason(), "user-rate");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod folder;

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

pub use tidegate_core::Ticket;
use tidegate_store::Memory;

use crate::clock::{Clock, SystemClock};
use crate::{Hold, StoreError, Timestamp};

pub use tidegate_engine::explain::{Explanation, explain};
pub use tidegate_engine::{
    Charging, Check, Consistency, Decision, Descriptor, LimitView, Malformed, Outcome, Override, Settled,
    Used,
};
pub use tidegate_rules::{Snapshot, Source, compile};

/// Decides checks by rule files, in this process.
pub struct Governor {
    engine: tidegate_engine::Engine<Memory>,
    clock: Box<dyn Clock>,
    /// Installing is counted, so that versions go up.
    version: Mutex<u64>,
}

/// Rules that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// What is wrong with them, as a compiler would print it.
    #[error("the rules cannot be used:\n{0}")]
    Invalid(String),
    /// A file or folder that cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl Governor {
    /// Rules from a text.
    pub fn from_text(text: &str) -> Result<Self, RulesError> {
        Self::from_sources(vec![Source::new("rules.yaml", text)])
    }

    /// Rules from all `.yaml` and `.yml` files of a folder: at most 1000, of at most 4 MiB each.
    pub fn from_folder(path: impl AsRef<Path>) -> Result<Self, RulesError> {
        Self::from_sources(folder::read(path.as_ref())?)
    }

    /// Rules from texts under their names.
    pub fn from_sources(sources: Vec<Source>) -> Result<Self, RulesError> {
        let governor = Self {
            engine: tidegate_engine::Engine::new(Memory::new()),
            clock: Box::new(SystemClock::new()),
            version: Mutex::new(0),
        };
        governor.replace(sources)?;
        Ok(governor)
    }

    /// The same under another clock, for tests that never sleep.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Puts other rules in force, if they can be used: counters stay, and every check sees the old ones or the new ones.
    pub fn replace(&self, sources: Vec<Source>) -> Result<(), RulesError> {
        let compiled = compile(sources);
        let Some(snapshot) = compiled.snapshot else {
            return Err(RulesError::Invalid(compiled_text(&compiled.files)));
        };
        let mut version = self.version.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *version += 1;
        self.engine.install(snapshot.with_version(*version));
        Ok(())
    }

    /// Reads a folder again and puts its rules in force, if they can be used.
    pub fn reload(&self, path: impl AsRef<Path>) -> Result<(), RulesError> {
        self.replace(folder::read(path.as_ref())?)
    }

    /// May this request pass?
    pub fn check(&self, check: &Check<'_>) -> Result<Decision, Malformed> {
        let decided = self.engine.try_check(check, self.now());
        // A store in memory answers without waiting. Without an answer the class would decide.
        decided.unwrap_or_else(|pending| self.engine.finish(*pending, check))
    }

    /// Would it pass? Nothing is charged.
    pub fn peek(&self, check: &Check<'_>) -> Result<Decision, Malformed> {
        ready(self.engine.peek(check, self.now()))
    }

    /// May it pass, at a cost that is settled later under the decision's id?
    pub fn reserve(&self, check: &Check<'_>, hold: Hold) -> Result<Decision, Malformed> {
        ready(self.engine.reserve(check, hold, self.now()))
    }

    /// Settles a reservation at what was really used.
    pub fn commit(&self, id: Ticket, used: Used<'_>) -> Result<Settled, Malformed> {
        ready(self.engine.commit(id, used, self.now()))
    }

    /// Settles a reservation at nothing.
    pub fn cancel(&self, id: Ticket) -> Settled {
        ready(self.engine.cancel(id, self.now()))
    }

    /// Gives back the slots that a decision holds.
    pub fn release(&self, id: Ticket) -> Settled {
        ready(self.engine.release(id, self.now()))
    }

    /// Lets the slots that a decision holds last another term; when they end now.
    pub fn renew(&self, id: Ticket) -> Result<Option<Timestamp>, StoreError> {
        ready(self.engine.renew(id, self.now()))
    }

    /// Which rules a check meets, what it would be charged where, and why not by the others.
    pub fn explain(&self, check: &Check<'_>) -> Result<Explanation, Malformed> {
        explain(check, &self.engine.snapshot(), self.now())
    }

    /// The engine itself.
    pub fn engine(&self) -> &tidegate_engine::Engine<Memory> {
        &self.engine
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl std::fmt::Debug for Governor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Governor").field("rules", &self.engine.snapshot().rules()).finish_non_exhaustive()
    }
}

fn compiled_text(files: &[tidegate_rules::File]) -> String {
    files.iter().map(|file| file.diagnostics.render(&file.source)).collect()
}

/// A store in memory never makes its caller wait, so its futures are ready when they are first polled.
fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a store in memory answers without waiting"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ManualClock;

    #[test]
    fn the_same_files_give_the_same_engine() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tidegate-rules/src");
        let clock = ManualClock::new();
        let governor = Governor::from_folder(folder).unwrap().with_clock(clock.clone());
        let check = Check {
            attributes: &[("path", "/login"), ("method", "POST"), ("ip", "192.0.2.1")],
            ..Check::new("api")
        };
        assert_eq!((0..20).take_while(|_| governor.check(&check).unwrap().allowed()).count(), 5);
        assert_eq!(governor.check(&check).unwrap().reason(), "blocked");
        clock.advance(Duration::from_secs(600));
        assert!(governor.check(&check).unwrap().allowed());
        assert!(governor.explain(&check).unwrap().rules.len() > 3);
    }

    #[test]
    fn bad_rules_are_told_and_the_good_ones_stay() {
        let governor = Governor::from_text("domain: api\nrules: [{ name: a, limit: 1/min }]").unwrap();
        let error =
            governor.replace(vec![Source::new("a.yaml", "domain: api\nrules: [{ name: a, limt: 1/min }]")]);
        assert!(error.unwrap_err().to_string().contains("did you mean `limit`?"));
        assert!(governor.check(&Check::new("api")).unwrap().allowed());
        assert!(!governor.check(&Check::new("api")).unwrap().allowed());
        assert!(matches!(Governor::from_folder("/no/such/folder"), Err(RulesError::Unreadable { .. })));
    }
}
