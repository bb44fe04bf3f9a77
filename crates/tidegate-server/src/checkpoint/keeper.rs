//! The thread that saves: never on the way of a check, and seldom enough that it does little else than wait.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tidegate_engine::Engine;
use tidegate_frontend::door::Clock;
use tidegate_store::memory::checkpoint::Saved;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{Home, Opened, Status};
use crate::config::Checkpoint;
use crate::stack::Stack;

/// The next time comes no sooner than after so many times as long as the last one took.
const REST: u32 = 10;

/// How long a stop waits for the last one.
const LAST_WITHIN: Duration = Duration::from_secs(10);

/// What has a thread save.
pub(crate) struct Keeper {
    status: Arc<Status>,
    stop: Sender<oneshot::Sender<()>>,
}

/// What the thread works with.
struct Work {
    home: Home,
    engine: Arc<Engine<Stack>>,
    clock: Clock,
    every: Duration,
    max_bytes: u64,
    status: Arc<Status>,
}

impl Keeper {
    /// Starts the thread. It ends with this.
    pub(crate) fn start(
        opened: Opened,
        engine: Arc<Engine<Stack>>,
        clock: Clock,
        settings: &Checkpoint,
    ) -> io::Result<Self> {
        let status = Arc::new(Status::default());
        status.change(|kept| kept.restored = opened.restored.map_or(0, |restored| restored.counters));
        let (stop, told) = channel();
        let work = Work {
            home: opened.home,
            engine,
            clock,
            every: settings.every,
            max_bytes: settings.max_bytes as u64,
            status: Arc::clone(&status),
        };
        // A thread and not a task: a disk that does not answer must not keep the process from ending.
        std::thread::Builder::new().name("checkpoint".to_owned()).spawn(move || work.run(&told))?;
        Ok(Self { status, stop })
    }

    pub(crate) fn status(&self) -> Arc<Status> {
        Arc::clone(&self.status)
    }

    /// Saves for the last time, when nothing is charged any more.
    pub(crate) async fn finish(self) {
        let (done, ended) = oneshot::channel();
        let asked = self.stop.send(done).is_ok();
        if !asked || !matches!(timeout(LAST_WITHIN, ended).await, Ok(Ok(()))) {
            tracing::warn!("counters were not saved at the end: what came since the last time is lost");
        }
    }
}

impl Work {
    fn run(&self, told: &Receiver<oneshot::Sender<()>>) {
        let mut pause = self.every;
        loop {
            match told.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) => pause = self.every.max(self.save() * REST),
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(done) => {
                    self.save();
                    return self.finish(done);
                }
            }
        }
    }

    /// Says that the last one was written, if it was.
    fn finish(&self, done: oneshot::Sender<()>) {
        let kept = self.status.get();
        if !kept.is_failing {
            let counters = kept.last.counters;
            tracing::info!(path = %self.home.path().display(), counters, "counters saved");
            // Who asked may have lost patience.
            done.send(()).ok();
        }
    }

    /// Saves; how long it took.
    fn save(&self) -> Duration {
        let (started, now) = (Instant::now(), (self.clock)());
        let store = self.engine.store().memory();
        let write = || self.home.write(|out| store.save(out, now, self.max_bytes));
        let saved =
            catch_unwind(AssertUnwindSafe(write)).unwrap_or_else(|_| Err(io::Error::other("it panicked")));
        let took = started.elapsed();
        match saved {
            Ok(saved) => {
                let before = self.status.change(|kept| {
                    (kept.last, kept.took, kept.saved_at, kept.is_failing) = (saved, took, now, false);
                    kept.saves += 1;
                });
                self.tell(saved, before.last, before.is_failing);
            }
            Err(error) => {
                let before = self.status.change(|kept| {
                    kept.is_failing = true;
                    kept.failures += 1;
                });
                if !before.is_failing {
                    tracing::warn!(path = %self.home.path().display(), %error, "counters cannot be saved");
                }
            }
        }
        took
    }

    /// Says what is new.
    fn tell(&self, saved: Saved, before: Saved, was_failing: bool) {
        if was_failing {
            tracing::info!(path = %self.home.path().display(), "counters are saved again");
        }
        if saved.left_out > 0 && before.left_out == 0 {
            let Saved { counters, left_out, .. } = saved;
            let advice = "raise checkpoint.max_size";
            tracing::warn!(counters, left_out, advice, "not all counters of long windows are saved");
        }
    }
}
