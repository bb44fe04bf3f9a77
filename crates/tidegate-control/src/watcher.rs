//! The task that keeps the rules in force up to date.
//!
//! In: a source of rules, whose revision is polled and whose hints are followed, and requests for
//! reloads and switches. Out: what the loader installs and notes. Everything is done one after the
//! other, except that switches are served while the source is slow.

mod contain;
mod control;

use std::time::Duration;

use tidegate_store::Store;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::error::Error;
use crate::handle::{ControlRequests, ReloadRequest, Request};
use crate::loader::RuleLoader;
use crate::reload::ReloadOutcome;
use crate::source::{ReadError, RuleSource, SourceReading};
use contain::{compute, contained};
use control::Control;

/// How often a watcher without a source looks at nothing.
const IDLE_INTERVAL: Duration = Duration::from_secs(60);

/// Follows a source of rules and serves a [`ControlHandle`](crate::ControlHandle).
pub struct RuleWatcher<R: RuleSource, S> {
    source: Option<R>,
    /// The revision that was last read; `None` if it is to be read again.
    seen: Option<R::Revision>,
    control: Control<S>,
}

impl<R: RuleSource, S: Store> RuleWatcher<R, S> {
    /// Loads the rules for the first time. Without a source the rules stay empty.
    ///
    /// # Errors
    /// If the source cannot be read, or any of the rules has an error.
    pub async fn start(
        mut source: Option<R>,
        mut loader: RuleLoader<S>,
        requests: ControlRequests,
    ) -> Result<Self, Error> {
        let mut seen = None;
        if let Some(source) = &mut source {
            let reading = source.read_first().await;
            let unreadable = |error| Error::Unreadable { source_name: source.name(), error };
            loader.load_first(&reading.files.map_err(unreadable)?)?;
            seen = reading.revision;
        } else {
            loader.load_nothing();
        }
        Ok(Self { source, seen, control: Control::new(loader, requests) })
    }

    /// Runs until all handles are dropped.
    pub async fn run(mut self) {
        let mut polls = ticks(self.source.as_ref().map_or(IDLE_INTERVAL, RuleSource::poll_interval));
        loop {
            tokio::select! {
                request = self.control.next() => match request {
                    Some(Request::Reload(request)) => self.serve_reload(request).await,
                    Some(Request::Switch(request)) => self.control.serve_switch(request),
                    None => return,
                },
                () = changed(&mut self.source) => self.look().await,
                _ = polls.tick() => self.look().await,
            }
        }
    }

    async fn serve_reload(&mut self, ReloadRequest { why, reply }: ReloadRequest) {
        let outcome = self.read(why).await;
        // The caller may have gone.
        reply.map(|reply| reply.send(outcome).ok());
    }

    /// Reads the source if its revision is not the one that was last read.
    async fn look(&mut self) {
        let Some(source) = &mut self.source else { return };
        let revision = self.control.serve_during(contained(source.revision())).await;
        if revision.and_then(Result::ok) != self.seen {
            self.read("change").await;
        }
    }

    async fn read(&mut self, why: &'static str) -> ReloadOutcome {
        let Some(source) = &mut self.source else { return ReloadOutcome::Unchanged };
        let reading = self.control.serve_during(contained(source.read())).await;
        let SourceReading { revision, files } =
            reading.unwrap_or_else(|| SourceReading::failed(ReadError::Panicked));
        self.seen = revision;
        compute(|| self.control.loader.reload(why, files))
    }
}

async fn changed(source: &mut Option<impl RuleSource>) {
    match source {
        Some(source) => source.changed().await,
        None => std::future::pending().await,
    }
}

/// Ticks at once and then at this interval; missed ticks are skipped.
fn ticks(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

#[cfg(test)]
mod tests;
