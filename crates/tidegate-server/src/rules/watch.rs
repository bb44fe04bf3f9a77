//! The task that keeps up with the files: the system tells of changes, and a look at the files now and then is the belt to
//! those braces; signals and the admin door ask for a reading as well. It also switches rules, so that nobody else installs any.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::files::{Fingerprint, Reading, fingerprint, read};
use super::loader::Loader;
use super::reload::Outcome;
use super::switches::{Change, Refused};
use super::unread::Unread;

/// How often the files are looked at.
const POLL: Duration = Duration::from_millis(500);

/// How long files must have been quiet before they are read, so that none is read half-written.
const QUIET: Duration = Duration::from_millis(50);

/// After so many rounds without quiet they are read as they are.
const MOST_ROUNDS: usize = 6;

/// Somebody wants the rules to be read again.
pub(crate) struct Trigger {
    /// Who.
    pub(crate) why: &'static str,
    /// Who waits for what comes of it.
    pub(crate) answer: Option<oneshot::Sender<Outcome>>,
}

/// Somebody wants a mode to be set or taken back.
pub(crate) struct SwitchOrder {
    pub(crate) change: Change,
    /// From where.
    pub(crate) by: Box<str>,
    /// Who waits for what comes of it.
    pub(crate) answer: oneshot::Sender<Result<(), Refused>>,
}

/// What the task can be asked for.
pub(crate) enum Order {
    /// To read the rules again.
    Reload(Trigger),
    /// To change a switch.
    Switch(SwitchOrder),
}

/// What reads the files.
type Reader = Arc<dyn Fn(&Path) -> io::Result<Reading> + Send + Sync>;

/// The task.
pub(crate) struct Watch {
    loader: Loader,
    /// The files as they were when they were last read; `None` if they could not be.
    seen: Option<Fingerprint>,
    orders: mpsc::Receiver<Order>,
    reader: Reader,
}

impl Watch {
    /// Keeps up with the files of a loader.
    pub(crate) fn new(loader: Loader, orders: mpsc::Receiver<Order>) -> Self {
        Self { seen: loader.seen(), loader, orders, reader: Arc::new(read) }
    }

    /// Runs until nobody can trigger it any more.
    pub(crate) async fn run(mut self) {
        let (told, mut events) = mpsc::channel(1);
        let _watcher = self.loader.path().and_then(|path| watcher(path, told));
        let mut poll = interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                order = self.orders.recv() => match order {
                    Some(Order::Reload(trigger)) => self.asked(trigger).await,
                    Some(Order::Switch(order)) => self.switched(order),
                    None => return,
                },
                Some(()) = events.recv() => self.look().await,
                _ = poll.tick() => {
                    if self.loader.has_ended_switches() {
                        tokio::task::block_in_place(|| self.loader.end_switches());
                    }
                    self.look().await;
                }
            }
        }
    }

    async fn asked(&mut self, Trigger { why, answer }: Trigger) {
        let outcome = match self.loader.path().map(Path::to_owned) {
            Some(path) => self.load(why, path).await,
            None => Outcome::Unchanged,
        };
        // Whoever asked may have gone.
        answer.map(|answer| answer.send(outcome).ok());
    }

    fn switched(&mut self, SwitchOrder { change, by, answer }: SwitchOrder) {
        let came = tokio::task::block_in_place(|| self.loader.switch(change, &by));
        // Whoever asked may have gone.
        answer.send(came).ok();
    }

    /// Reads the files if they are not as they were.
    async fn look(&mut self) {
        let Some(path) = self.loader.path().map(Path::to_owned) else { return };
        if stamped(&path).await.ok() != self.seen {
            self.load("change", path).await;
        }
    }

    async fn load(&mut self, why: &'static str, path: PathBuf) -> Outcome {
        let (seen, reading) = settled(&path, &self.reader).await;
        self.seen = seen;
        // Compiling takes a while if there are many rules; checks go on.
        tokio::task::block_in_place(|| self.loader.reload(why, reading))
    }
}

/// The texts of files that were quiet before and while they were read, and as what they were seen. What the system does
/// not let be read now may be readable soon, so it was not seen; what breaks the reading breaks it until it changes.
async fn settled(path: &Path, reader: &Reader) -> (Option<Fingerprint>, Result<Reading, Unread>) {
    let mut round = 0;
    loop {
        round += 1;
        let before = match stamped(path).await {
            Ok(before) => before,
            Err(unread) => return (None, Err(unread)),
        };
        sleep(QUIET).await;
        let (path, reader) = (path.to_owned(), Arc::clone(reader));
        let read = blocking(move || Ok((fingerprint(&path)?, reader(&path)?, fingerprint(&path)?))).await;
        match read {
            Ok((between, reading, after)) => {
                if (before == between && between == after) || round == MOST_ROUNDS {
                    return (Some(between), Ok(reading));
                }
            }
            Err(Unread::Broke) => return (Some(before), Err(Unread::Broke)),
            Err(failed) => return (None, Err(failed)),
        }
    }
}

async fn stamped(path: &Path) -> Result<Fingerprint, Unread> {
    let path = path.to_owned();
    blocking(move || fingerprint(&path)).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Unread> {
    Ok(tokio::task::spawn_blocking(work).await.map_err(|_| Unread::Broke)??)
}

/// Tells of every change in a directory, or next to a file; `None` if the system cannot.
fn watcher(path: &Path, told: mpsc::Sender<()>) -> Option<RecommendedWatcher> {
    let tell = move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| !event.kind.is_access()) {
            // A change that is waiting to be looked at stands for all.
            told.try_send(()).ok();
        }
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = if path.is_dir() { path } else { parent.unwrap_or(Path::new(".")) };
    let watcher = notify::recommended_watcher(tell).and_then(|mut watcher| {
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    watcher.inspect_err(|error| tracing::warn!(%error, "no notice of changes; polling only")).ok()
}

#[cfg(test)]
mod tests;
