//! Switches over the rules in force: set, taken back, ended; each change is a new version, and is logged.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tidegate_core::Timestamp;

use super::Loader;
use crate::rules::reload::once_more;
use crate::rules::switches::{Change, Refused, Switch, Switches, Target};

impl Loader {
    /// Changes a switch, for somebody who asked from there.
    pub(crate) fn switch(&mut self, change: Change, by: &str) -> Result<(), Refused> {
        let (target, came) = match change {
            Change::Set { target, mode, lasts, reason } => {
                let since = (self.to.clock)();
                let until = lasts.map(|lasts| after(since, lasts));
                let came = self.set(&target, &Switch { mode, since, until, reason, by: by.into() });
                (target, came)
            }
            Change::TakeBack(target) => {
                let came = self.take_back(&target, by);
                (target, came)
            }
        };
        came.inspect_err(|refused| tracing::warn!(by, on = %target, %refused, "not switched"))
    }

    /// Whether there are switches to be let go of.
    pub(crate) fn has_ended_switches(&self) -> bool {
        !self.switches.is_empty() && !self.switches.ended((self.to.clock)()).is_empty()
    }

    /// Lets go of switches that have ended.
    pub(crate) fn end_switches(&mut self) {
        let ended = self.switches.ended((self.to.clock)());
        if ended.is_empty() || self.put_in_force(self.switches.clone().without_each(&ended)).is_err() {
            return;
        }
        for target in ended {
            tracing::info!(on = %target, version = self.version, "switch ended");
        }
    }

    /// Says which switches have no rule any more: they are kept, in case it comes back.
    pub(super) fn tell_idle_switches(&self) {
        let snapshot = self.to.engine.snapshot();
        for (target, switch) in self.switches.iter().filter(|(target, _)| target.find(&snapshot).is_err()) {
            tracing::warn!(on = %target, mode = switch.mode.word(), "a switch is on what is not there; it is kept");
        }
    }

    fn set(&mut self, target: &Target, switch: &Switch) -> Result<(), Refused> {
        target.find(&self.to.engine.snapshot())?;
        self.put_in_force(self.switches.clone().with(target.clone(), switch.clone())?)?;
        let Switch { mode, until, reason, by, .. } = switch;
        let (mode, until_ms) = (mode.word(), until.map(|until| until.as_micros() / 1000));
        let (version, rules) = (self.version, target.rules(&self.to.engine.snapshot()));
        tracing::warn!(%by, on = %target, mode, until_ms, reason = reason.as_deref(), rules, version, "switched");
        Ok(())
    }

    fn take_back(&mut self, target: &Target, by: &str) -> Result<(), Refused> {
        let left = self.switches.clone().without(target)?;
        let count = self.switches.len() - left.len();
        self.put_in_force(left)?;
        tracing::info!(by, on = %target, count, version = self.version, "switch taken back");
        Ok(())
    }

    /// Installs the rules once more with these switches; if that breaks, everything stays as it was.
    fn put_in_force(&mut self, switches: Switches) -> Result<(), Refused> {
        let compiled = catch_unwind(AssertUnwindSafe(|| once_more(&self.texts)));
        let snapshot = compiled.ok().flatten().ok_or(Refused::Broke)?;
        self.switches = switches;
        self.to.status.switched(&self.switches);
        self.install(snapshot);
        Ok(())
    }
}

fn after(since: Timestamp, lasts: std::time::Duration) -> Timestamp {
    since.plus_us(u64::try_from(lasts.as_micros()).unwrap_or(u64::MAX))
}
