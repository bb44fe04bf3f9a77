//! The runtimes that connections are served on: one of a single thread for each core, so that a request never goes from thread to
//! thread; or, for comparison, the one that all else runs on.

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

use crate::config::Runtime;

/// Pieces of heavy work that are done on one core before all else there has its turn again. A handshake is two or three of them,
/// of a millisecond at most.
const TURNS: usize = 8;

/// Where connections are served.
#[derive(Debug)]
pub(crate) struct Cores {
    cores: Vec<Arc<Core>>,
    /// Threads end when these are dropped. Without any, it is where all else runs.
    threads: Vec<oneshot::Sender<()>>,
}

#[derive(Debug)]
struct Core {
    handle: Handle,
    connections: AtomicUsize,
    /// Turns at the arithmetic of encrypted connections that begin: however many do, those that are there are served.
    turns: Semaphore,
}

impl Cores {
    /// As it was set. Threads that are started end when this is dropped.
    pub(crate) fn start(runtime: Runtime) -> io::Result<Self> {
        let count = match runtime {
            Runtime::Shared => return Ok(Self::here()),
            Runtime::PerCore => available_parallelism().map_or(1, NonZeroUsize::get),
            Runtime::Cores(count) => count,
        };
        let started = (0..count).map(core).collect::<io::Result<Vec<_>>>()?;
        let (handles, threads): (Vec<_>, Vec<_>) = started.into_iter().unzip();
        Ok(Self { cores: handles.into_iter().map(Core::new).collect(), threads })
    }

    /// The runtime that this is called on.
    pub(crate) fn here() -> Self {
        Self { cores: vec![Core::new(Handle::current())], threads: Vec::new() }
    }

    /// The runtimes of the cores; none if connections are served where all else is.
    pub(crate) fn handles(&self) -> Vec<Handle> {
        if self.threads.is_empty() {
            return Vec::new();
        }
        self.cores.iter().map(|core| core.handle.clone()).collect()
    }

    /// A seat on the core with the fewest connections.
    pub(crate) fn seat(&self) -> Seat {
        let least = self.cores.iter().min_by_key(|core| core.connections.load(Relaxed));
        let core = Arc::clone(least.expect("there is at least one core"));
        core.connections.fetch_add(1, Relaxed);
        Seat(core)
    }

    /// How many connections each core serves.
    pub(crate) fn connections(&self) -> impl Iterator<Item = usize> {
        self.cores.iter().map(|core| core.connections.load(Relaxed))
    }
}

impl Core {
    fn new(handle: Handle) -> Arc<Self> {
        let (connections, turns) = (AtomicUsize::new(0), Semaphore::new(TURNS));
        Arc::new(Self { handle, connections, turns })
    }
}

/// A connection's place on a core, for as long as it is open.
#[derive(Debug)]
pub(crate) struct Seat(Arc<Core>);

impl Seat {
    /// Sees work to its end whose every step is heavy. For each of them it takes a turn, lets all others on the core go first, and
    /// gives the turn back: whoever waits for something has none.
    pub(crate) async fn by_turns<F: Future>(&self, work: F) -> F::Output {
        let mut work = pin!(work);
        loop {
            // Nobody closes it.
            let turn = self.0.turns.acquire().await;
            yield_now().await;
            if let Poll::Ready(done) = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
                return done;
            }
            drop(turn);
            woken().await;
        }
    }

    /// The runtime of its core.
    pub(crate) fn handle(&self) -> Handle {
        self.0.handle.clone()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Relaxed);
    }
}

/// Waits until whoever was asked before wakes the task.
async fn woken() {
    let mut was_asked = false;
    poll_fn(|_| if replace(&mut was_asked, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// Starts a thread with a runtime of its own, which ends with what is given back beside it.
fn core(number: usize) -> io::Result<(Handle, oneshot::Sender<()>)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (end, ended) = oneshot::channel::<()>();
    thread::Builder::new().name(format!("tidegate-core-{number}")).spawn(move || {
        tidegate_redis::client::stay_on_lane(number);
        // It never says anything: it is dropped.
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

    #[test]
    fn connections_are_spread_evenly_and_freed_places_are_filled_first() {
        let cores = Cores::start(Runtime::Cores(3)).unwrap();
        let mut seats: Vec<_> = (0..9).map(|_| cores.seat()).collect();
        assert_eq!(cores.connections().collect::<Vec<_>>(), [3, 3, 3]);
        drop((seats.remove(0), seats.remove(2)));
        assert_eq!(cores.connections().collect::<Vec<_>>(), [1, 3, 3]);
        seats.push(cores.seat());
        assert_eq!(cores.connections().collect::<Vec<_>>(), [2, 3, 3]);
    }

    #[test]
    fn a_core_runs_on_a_thread_of_its_own_and_ends() {
        let cores = Cores::start(Runtime::Cores(1)).unwrap();
        let (name, named) = std::sync::mpsc::channel();
        let told = name.clone();
        cores.seat().handle().spawn(async move {
            told.send(std::thread::current().name().map(str::to_owned)).unwrap();
        });
        assert_eq!(named.recv().unwrap().as_deref(), Some("tidegate-core-0"));
        // What its runtime held is dropped with it.
        cores.seat().handle().spawn(async move {
            std::future::pending::<()>().await;
            drop(name);
        });
        drop(cores);
        assert!(named.recv().is_err());
    }

    #[tokio::test]
    async fn whoever_waits_has_no_turn_and_those_that_are_there_are_not_kept_waiting() {
        const WORKS: usize = 10 * TURNS;
        let cores = Cores::here();
        let (seat, local, steps) = (Arc::new(cores.seat()), LocalSet::new(), Rc::new(Cell::new(0)));
        for _ in 0..WORKS {
            let silent = Arc::clone(&seat);
            local.spawn_local(async move { silent.by_turns(pending::<()>()).await });
            let (seat, steps) = (Arc::clone(&seat), Rc::clone(&steps));
            local.spawn_local(async move { seat.by_turns(async { steps.set(steps.get() + 1) }).await });
        }
        local
            .run_until(async {
                while steps.get() < WORKS {
                    let before = steps.get();
                    yield_now().await;
                    assert!(steps.get() - before <= TURNS, "{} at once", steps.get() - before);
                }
            })
            .await;
    }

    #[tokio::test]
    async fn work_that_waits_goes_on_when_it_is_woken() {
        let seat = Cores::here().seat();
        let (tell, told) = oneshot::channel();
        let work = async {
            yield_now().await;
            told.await
        };
        let (done, sent) = join!(seat.by_turns(work), async {
            yield_now().await;
            tell.send(7)
        });
        assert_eq!((done, sent), (Ok(7), Ok(())));
    }
}
