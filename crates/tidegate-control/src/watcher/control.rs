//! Requests and the loader that they change, apart from the source, so that a slow source does not
//! hold up switches.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::Duration;

use tidegate_store::Store;
use tokio::sync::mpsc;
use tokio::time::{Interval, timeout};

use super::contain::compute;
use super::ticks;
use crate::handle::{ControlRequests, MAX_WAITING, ReloadRequest, Request, SwitchRequest};
use crate::loader::RuleLoader;

/// How often switches are checked for their end.
const SWITCH_INTERVAL: Duration = Duration::from_millis(500);

/// How long a switch waits for a read. Files are read within this time, so a switch on a rule that
/// is just being loaded finds it.
const READ_PATIENCE: Duration = Duration::from_secs(1);

/// The loader, and the requests for it.
pub(super) struct Control<S> {
    pub(super) loader: RuleLoader<S>,
    requests: mpsc::Receiver<Request>,
    /// Reloads that were asked for during a slow read.
    waiting: VecDeque<ReloadRequest>,
    switch_ticks: Interval,
}

impl<S: Store> Control<S> {
    pub(super) fn new(loader: RuleLoader<S>, requests: ControlRequests) -> Self {
        let switch_ticks = ticks(SWITCH_INTERVAL);
        Self { loader, requests: requests.0, waiting: VecDeque::new(), switch_ticks }
    }

    /// The next request; `None` if all handles are dropped. Switches end meanwhile. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Request> {
        if let Some(request) = self.waiting.pop_front() {
            return Some(Request::Reload(request));
        }
        loop {
            tokio::select! {
                request = self.requests.recv() => return request,
                _ = self.switch_ticks.tick() => self.end_switches(),
            }
        }
    }

    /// Awaits work on the source. If it is slow, switches are served meanwhile and reloads wait.
    pub(super) async fn serve_during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if let Ok(done) = timeout(READ_PATIENCE, &mut work).await {
            return done;
        }
        loop {
            tokio::select! {
                done = &mut work => return done,
                Some(request) = self.requests.recv() => match request {
                    Request::Switch(request) => self.serve_switch(request),
                    Request::Reload(request) if self.waiting.len() < MAX_WAITING => {
                        self.waiting.push_back(request);
                    }
                    // Dropped, which tells its caller that the watcher is busy: reloads must not keep
                    // switches from being served.
                    Request::Reload(_) => {}
                },
                _ = self.switch_ticks.tick() => self.end_switches(),
            }
        }
    }

    pub(super) fn serve_switch(&mut self, request: SwitchRequest) {
        let SwitchRequest { change, by, reply } = request;
        let result = compute(|| self.loader.switch(change, &by));
        // The caller may have gone.
        reply.send(result).ok();
    }

    fn end_switches(&mut self) {
        if self.loader.has_ended_switches() {
            compute(|| self.loader.end_switches());
        }
    }
}
