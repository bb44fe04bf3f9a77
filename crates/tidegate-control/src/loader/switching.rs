//! Sets, clears and ends switches; each change installs the rules in force as a new version.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tidegate_core::Timestamp;
use tidegate_store::Store;

use super::RuleLoader;
use crate::reload::recompile;
use crate::switches::{Switch, SwitchChange, SwitchError, SwitchTarget, Switches};

impl<S: Store> RuleLoader<S> {
    /// Changes a switch and logs who did.
    pub(crate) fn switch(&mut self, change: SwitchChange, by: &str) -> Result<(), SwitchError> {
        let (target, result) = match change {
            SwitchChange::Set { target, mode, duration, reason } => {
                let since = (self.context.clock)();
                let until = duration.map(|duration| after(since, duration));
                let switch = Switch { mode, since, until, reason, by: by.into() };
                let result = self.set_switch(&target, &switch);
                (target, result)
            }
            SwitchChange::Clear(target) => {
                let result = self.clear_switches(&target, by);
                (target, result)
            }
        };
        result.inspect_err(|refused| tracing::warn!(by, on = %target, %refused, "not switched"))
    }

    /// Whether a switch has ended and is still applied.
    pub(crate) fn has_ended_switches(&self) -> bool {
        !self.switches.is_empty() && !self.switches.ended((self.context.clock)()).is_empty()
    }

    /// Removes the switches that have ended.
    pub(crate) fn end_switches(&mut self) {
        let ended = self.switches.ended((self.context.clock)());
        if ended.is_empty() || self.apply_switches(self.switches.clone().without_each(&ended)).is_err() {
            return;
        }
        for target in ended {
            tracing::info!(on = %target, version = self.version, "switch ended");
        }
    }

    /// Logs switches whose rule is gone. They are kept, in case it comes back.
    pub(super) fn warn_of_idle_switches(&self) {
        let snapshot = self.context.engine.snapshot();
        for (target, switch) in self.switches.iter().filter(|(target, _)| target.find(&snapshot).is_err()) {
            tracing::warn!(on = %target, mode = switch.mode.word(), "a switch is on what is not there; it is kept");
        }
    }

    fn set_switch(&mut self, target: &SwitchTarget, switch: &Switch) -> Result<(), SwitchError> {
        target.find(&self.context.engine.snapshot())?;
        self.apply_switches(self.switches.clone().with(target.clone(), switch.clone())?)?;
        let Switch { mode, until, reason, by, .. } = switch;
        let (mode, until_ms) = (mode.word(), until.map(|until| until.as_micros() / 1000));
        let (version, rules) = (self.version, target.rules(&self.context.engine.snapshot()));
        tracing::warn!(%by, on = %target, mode, until_ms, reason = reason.as_deref(), rules, version, "switched");
        Ok(())
    }

    fn clear_switches(&mut self, target: &SwitchTarget, by: &str) -> Result<(), SwitchError> {
        let left = self.switches.clone().without(target)?;
        let count = self.switches.len() - left.len();
        self.apply_switches(left)?;
        tracing::info!(by, on = %target, count, version = self.version, "switch taken back");
        Ok(())
    }

    /// Installs the rules in force again with these switches; on an error nothing changes.
    fn apply_switches(&mut self, switches: Switches) -> Result<(), SwitchError> {
        let compiled = catch_unwind(AssertUnwindSafe(|| recompile(&self.texts)));
        let snapshot = compiled.ok().flatten().ok_or(SwitchError::CompileFailed)?;
        self.switches = switches;
        self.context.status.set_switches(&self.switches);
        self.install(snapshot);
        Ok(())
    }
}

fn after(since: Timestamp, duration: Duration) -> Timestamp {
    since.plus_us(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}
