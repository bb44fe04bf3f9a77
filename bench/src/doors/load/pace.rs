//! The open loop: checks are due at a steady rate, whether or not earlier ones are answered, and take from when they were due.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::task::{JoinSet, yield_now};

use super::super::talk::Talker;
use super::{Crowd, Times};

impl<T: Talker> Crowd<T> {
    /// Asks so many times a second. A check that finds nobody free to ask it waits, and that is in its time.
    pub(in crate::doors) async fn pace(&mut self, checks: Range<usize>, per_second: f64) -> Result<Times> {
        let board = Arc::new(Board::new(checks.clone()));
        let mut tasks = JoinSet::new();
        for talker in self.talkers.drain(..) {
            tasks.spawn(ask_what_is_due(talker, Arc::clone(&board)));
        }
        let (start, mut next) = (Instant::now(), checks.start);
        let due_after = |check| Duration::from_secs_f64((check - checks.start) as f64 / per_second);
        while next < checks.end {
            // Whoever comes to an end already has failed, and nobody needs to hear the rest.
            if let Some(task) = tasks.try_join_next() {
                task.context("a task has come to an end of its own")??;
            }
            let now = Instant::now();
            while next < checks.end {
                let due = start + due_after(next);
                if due > now {
                    break;
                }
                board.put((next, due));
                next += 1;
            }
            // No timer, and no sleep: those that the system has are late, and a core that sleeps takes long to wake.
            yield_now().await;
        }
        board.end();
        while let Some(task) = tasks.join_next().await {
            self.talkers.push(task.context("a task has come to an end of its own")??);
        }
        let whole = start.elapsed();
        let (each, late) = std::mem::take(&mut board.state().taken).into_iter().unzip();
        Ok(Times { each, late, due: checks.clone().map(|check| start + due_after(check)).collect(), whole })
    }
}

/// A check, and since when it is due.
type Due = (usize, Instant);

/// Where checks that are due wait for those who ask, and these for checks.
struct Board {
    first: usize,
    state: Mutex<State>,
}

struct State {
    waiting: VecDeque<Due>,
    idle: Vec<Waker>,
    is_over: bool,
    /// After what time each check was answered, and begun.
    taken: Vec<(Duration, Duration)>,
}

impl Board {
    /// There is a place for the times of all checks, and it has been written to: memory that is touched for the first time while the
    /// clock runs can take long to come, on a virtual machine above all.
    fn new(checks: Range<usize>) -> Self {
        let taken = vec![(Duration::MAX, Duration::MAX); checks.len()];
        let state = State { waiting: VecDeque::new(), idle: Vec::new(), is_over: false, taken };
        Self { first: checks.start, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a check there, for somebody who is idle, or for whoever is done first.
    fn put(&self, due: Due) {
        let mut state = self.state();
        state.waiting.push_back(due);
        let idle = state.idle.pop();
        drop(state);
        if let Some(waker) = idle {
            waker.wake();
        }
    }

    /// There will be no more.
    fn end(&self) {
        let mut state = self.state();
        state.is_over = true;
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        idle.into_iter().for_each(Waker::wake);
    }

    /// The next check; `None` when there are no more.
    async fn next(&self) -> Option<Due> {
        poll_fn(|context| {
            let mut state = self.state();
            let next = state.waiting.pop_front();
            if next.is_some() || state.is_over {
                return Poll::Ready(next);
            }
            state.idle.push(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// Asks one check after another, as they are due.
async fn ask_what_is_due<T: Talker>(mut talker: T, board: Arc<Board>) -> Result<T> {
    while let Some((check, due)) = board.next().await {
        let late = due.elapsed();
        talker.ask(check..check + 1).await?;
        let place = check - board.first;
        board.state().taken[place] = (due.elapsed(), late);
    }
    Ok(talker)
}
