//! The runtimes that serve connections: one of a single thread per core, so that a request never
//! changes threads; or the runtime that everything else runs on.

use std::future::{Future, poll_fn};
use std::io;
use std::mem::replace;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;
use std::thread::{self, available_parallelism};

use tokio::runtime::{Builder, Handle};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::yield_now;

/// Heavy steps that one core runs before everything else on it has a turn again. A handshake is two
/// or three steps of a millisecond at most.
const MAX_HEAVY_STEPS: usize = 8;

/// Which runtimes serve connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuntimeChoice {
    /// A runtime of one thread for each core.
    #[default]
    PerCore,
    /// So many runtimes of one thread.
    Cores(usize),
    /// The runtime that everything else runs on, whose threads steal work from each other.
    Shared,
}

/// The runtimes that serve connections.
#[derive(Debug)]
pub struct Cores {
    cores: Vec<Arc<Core>>,
    /// Each thread ends when its sender is dropped. Empty for the current runtime.
    threads: Vec<oneshot::Sender<()>>,
}

#[derive(Debug)]
struct Core {
    handle: Handle,
    connections: AtomicUsize,
    /// Permits for the heavy steps of TLS handshakes, so that open connections are served meanwhile.
    heavy_steps: Semaphore,
}

impl Cores {
    /// Starts the chosen runtimes. Their threads end when this is dropped; `on_start` runs first on
    /// each thread, with its number.
    pub fn start(choice: RuntimeChoice, on_start: fn(usize)) -> io::Result<Self> {
        let count = match choice {
            RuntimeChoice::Shared => return Ok(Self::current()),
            RuntimeChoice::PerCore => available_parallelism().map_or(1, NonZeroUsize::get),
            RuntimeChoice::Cores(count) => count.max(1),
        };
        let started = (0..count).map(|number| start_core(number, on_start));
        let (handles, threads): (Vec<_>, Vec<_>) =
            started.collect::<io::Result<Vec<_>>>()?.into_iter().unzip();
        Ok(Self { cores: handles.into_iter().map(Core::new).collect(), threads })
    }

    /// The runtime that this is called on.
    pub fn current() -> Self {
        Self { cores: vec![Core::new(Handle::current())], threads: Vec::new() }
    }

    /// The runtimes with a thread of their own; empty for the current runtime.
    pub fn handles(&self) -> Vec<Handle> {
        if self.threads.is_empty() {
            return Vec::new();
        }
        self.cores.iter().map(|core| core.handle.clone()).collect()
    }

    /// A slot on the core with the fewest connections.
    #[expect(clippy::missing_panics_doc, reason = "there is always at least one core")]
    pub fn slot(&self) -> CoreSlot {
        let least = self.cores.iter().min_by_key(|core| core.connections.load(Relaxed));
        let core = Arc::clone(least.expect("there is at least one core"));
        core.connections.fetch_add(1, Relaxed);
        CoreSlot(core)
    }

    /// How many connections each core serves.
    pub fn connections(&self) -> impl Iterator<Item = usize> {
        self.cores.iter().map(|core| core.connections.load(Relaxed))
    }
}

impl Core {
    fn new(handle: Handle) -> Arc<Self> {
        let (connections, heavy_steps) = (AtomicUsize::new(0), Semaphore::new(MAX_HEAVY_STEPS));
        Arc::new(Self { handle, connections, heavy_steps })
    }
}

/// A connection's slot on a core, until it is dropped.
#[derive(Debug)]
pub struct CoreSlot(Arc<Core>);

impl CoreSlot {
    /// Runs work whose every poll is heavy. Invariants: no poll runs without a permit, the task
    /// yields between permit and poll, and a task that waits for I/O holds no permit.
    pub async fn run_by_turns<F: Future>(&self, work: F) -> F::Output {
        let mut work = pin!(work);
        loop {
            // The semaphore is never closed, so this is always a permit.
            let permit = self.0.heavy_steps.acquire().await;
            yield_now().await;
            if let Poll::Ready(done) = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
                return done;
            }
            drop(permit);
            next_wake().await;
        }
    }

    /// The runtime of the core.
    pub fn handle(&self) -> Handle {
        self.0.handle.clone()
    }
}

impl Drop for CoreSlot {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Relaxed);
    }
}

/// Waits until the waker that was registered before wakes the task.
async fn next_wake() {
    let mut was_polled = false;
    poll_fn(|_| if replace(&mut was_polled, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// Starts a thread with a runtime of its own; it ends when the sender is dropped.
fn start_core(number: usize, on_start: fn(usize)) -> io::Result<(Handle, oneshot::Sender<()>)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (end, ended) = oneshot::channel::<()>();
    thread::Builder::new().name(format!("tidegate-core-{number}")).spawn(move || {
        on_start(number);
        // Nothing is ever sent: the sender is dropped.
        drop(runtime.block_on(ended));
    })?;
    Ok((handle, end))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;
    use std::rc::Rc;

    use tokio::join;
    use tokio::task::LocalSet;

    use super::*;

    fn start(count: usize) -> Cores {
        Cores::start(RuntimeChoice::Cores(count), |_| {}).unwrap()
    }

    #[test]
    fn spreads_connections_evenly() {
        let cores = start(3);
        let mut slots: Vec<_> = (0..9).map(|_| cores.slot()).collect();
        assert_eq!(cores.connections().collect::<Vec<_>>(), [3, 3, 3]);
        drop((slots.remove(0), slots.remove(2)));
        assert_eq!(cores.connections().collect::<Vec<_>>(), [1, 3, 3]);
        slots.push(cores.slot());
        assert_eq!(cores.connections().collect::<Vec<_>>(), [2, 3, 3]);
    }

    #[test]
    fn core_threads_are_named_and_end() {
        let cores = start(1);
        let (sender, receiver) = std::sync::mpsc::channel();
        let first = sender.clone();
        cores.slot().handle().spawn(async move {
            first.send(std::thread::current().name().map(str::to_owned)).unwrap();
        });
        assert_eq!(receiver.recv().unwrap().as_deref(), Some("tidegate-core-0"));
        // The runtime is dropped with its tasks.
        cores.slot().handle().spawn(async move {
            pending::<()>().await;
            drop(sender);
        });
        drop(cores);
        assert!(receiver.recv().is_err());
    }

    #[test]
    fn on_start_runs_on_each_core() {
        thread_local! {
            static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
        }
        let cores = Cores::start(RuntimeChoice::Cores(2), |number| NUMBER.set(Some(number))).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        for handle in cores.handles() {
            let sender = sender.clone();
            handle.spawn(async move { sender.send(NUMBER.get()).unwrap() });
        }
        let mut seen = [receiver.recv().unwrap(), receiver.recv().unwrap()];
        seen.sort_unstable();
        assert_eq!(seen, [Some(0), Some(1)]);
    }

    #[tokio::test]
    async fn waiting_work_holds_no_permit() {
        const WORKS: usize = 10 * MAX_HEAVY_STEPS;
        let cores = Cores::current();
        let (slot, local, steps) = (Arc::new(cores.slot()), LocalSet::new(), Rc::new(Cell::new(0)));
        for _ in 0..WORKS {
            let silent = Arc::clone(&slot);
            local.spawn_local(async move { silent.run_by_turns(pending::<()>()).await });
            let (slot, steps) = (Arc::clone(&slot), Rc::clone(&steps));
            local.spawn_local(async move { slot.run_by_turns(async { steps.set(steps.get() + 1) }).await });
        }
        local
            .run_until(async {
                while steps.get() < WORKS {
                    let before = steps.get();
                    yield_now().await;
                    let at_once = steps.get() - before;
                    assert!(at_once <= MAX_HEAVY_STEPS, "{at_once} at once");
                }
            })
            .await;
    }

    #[tokio::test]
    async fn waiting_work_resumes_when_woken() {
        let slot = Cores::current().slot();
        let (sender, receiver) = oneshot::channel();
        let work = async {
            yield_now().await;
            receiver.await
        };
        let (done, sent) = join!(slot.run_by_turns(work), async {
            yield_now().await;
            sender.send(7)
        });
        assert_eq!((done, sent), (Ok(7), Ok(())));
    }
}
