//! Rules from a directory or a single file: every read waits until the files have settled.
//!
//! Changes are noticed by notifications of the file system and by a fingerprint twice a second.

mod files;

use std::future::pending;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::{ReadError, RuleFiles, RuleSource, SourceReading};
use files::{Fingerprint, fingerprint};

pub use files::read as read_files;

/// How often the files are fingerprinted.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// How long files must stay unchanged before they are read, so that none is read half-written.
const QUIET: Duration = Duration::from_millis(50);

/// After this many rounds without quiet, files are read as they are.
const MAX_ROUNDS: usize = 6;

/// Reads the files; replaced in tests.
type Reader = Arc<dyn Fn(&Path) -> io::Result<RuleFiles> + Send + Sync>;

/// Rules from a directory or a single file.
pub struct FileSource {
    path: PathBuf,
    reader: Reader,
    /// Notifications; `None` until they are first waited for.
    events: Option<Events>,
}

/// Notifications of the file system.
struct Events {
    received: mpsc::Receiver<()>,
    /// Sends until it is dropped; `None` if the system has no notifications.
    _watcher: Option<RecommendedWatcher>,
}

impl FileSource {
    /// The rule files of a directory, or this file.
    pub fn new(path: PathBuf) -> Self {
        Self { path, reader: Arc::new(files::read), events: None }
    }

    /// Reads the files once, with fingerprints taken before and after the texts.
    async fn read_between(&self) -> Result<(Fingerprint, RuleFiles, Fingerprint), ReadError> {
        let (path, reader) = (self.path.clone(), Arc::clone(&self.reader));
        blocking(move || Ok((fingerprint(&path)?, reader(&path)?, fingerprint(&path)?))).await
    }

    async fn fingerprint(&self) -> Result<Fingerprint, ReadError> {
        let path = self.path.clone();
        blocking(move || fingerprint(&path)).await
    }
}

impl RuleSource for FileSource {
    type Revision = Fingerprint;

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn poll_interval(&self) -> Duration {
        POLL_INTERVAL
    }

    async fn revision(&mut self) -> Result<Fingerprint, ReadError> {
        self.fingerprint().await
    }

    async fn read(&mut self) -> SourceReading<Fingerprint> {
        let mut round = 0;
        loop {
            round += 1;
            let before = match self.fingerprint().await {
                Ok(before) => before,
                Err(error) => return SourceReading::failed(error),
            };
            sleep(QUIET).await;
            match self.read_between().await {
                Ok((between, files, after)) => {
                    if (before == between && between == after) || round == MAX_ROUNDS {
                        return SourceReading { revision: Some(between), files: Ok(files) };
                    }
                }
                Err(error) => return failed(before, error),
            }
        }
    }

    async fn read_first(&mut self) -> SourceReading<Fingerprint> {
        match self.read_between().await {
            // Fingerprint first: a file that changes during the read is read again.
            Ok((before, files, _)) => SourceReading { revision: Some(before), files: Ok(files) },
            Err(error) => SourceReading::failed(error),
        }
    }

    async fn changed(&mut self) {
        let events = self.events.get_or_insert_with(|| Events::new(&self.path));
        if events.received.recv().await.is_none() {
            pending::<()>().await;
        }
    }
}

/// A read that failed is repeated, since the system may allow it soon. One that panicked would
/// panic again, so it is repeated only after a change.
fn failed(before: Fingerprint, error: ReadError) -> SourceReading<Fingerprint> {
    let revision = matches!(error, ReadError::Panicked).then_some(before);
    SourceReading { revision, files: Err(error) }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, ReadError> {
    spawn_blocking(work).await.map_err(|_| ReadError::Panicked)?.map_err(ReadError::failed)
}

impl Events {
    /// Watches a directory, or the directory of a file.
    fn new(path: &Path) -> Self {
        let (sender, received) = mpsc::channel(1);
        let notify = move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !event.kind.is_access()) {
                // One pending notification stands for all.
                sender.try_send(()).ok();
            }
        };
        let watcher = notify::recommended_watcher(notify).and_then(|mut watcher| {
            watcher.watch(watched_folder(path), RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        let watcher =
            watcher.inspect_err(|error| tracing::warn!(%error, "no notice of changes; polling only")).ok();
        Self { received, _watcher: watcher }
    }
}

fn watched_folder(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if path.is_dir() { path } else { parent.unwrap_or(Path::new(".")) }
}

#[cfg(test)]
mod tests;
