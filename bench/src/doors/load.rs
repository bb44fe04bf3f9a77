//! The load: so many checks as fast as they are answered, or at a rate that does not wait for answers.

mod pace;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use super::talk::Talker;

/// One thread asks: the other cores are the server's.
pub(super) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// How long checks took until they were answered, and all of them together.
#[derive(Default)]
pub(super) struct Times {
    each: Vec<Duration>,
    /// How late each was begun, where it was due at a time: the load's own share.
    late: Vec<Duration>,
    /// When it was due.
    due: Vec<Instant>,
    pub(super) whole: Duration,
}

impl Times {
    /// The time that this share of checks was answered within.
    pub(super) fn within(&self, share: f64) -> Duration {
        within(&self.each, share)
    }

    /// The same of those that were due when it counts; and how many they are.
    pub(super) fn within_where(&self, share: f64, counts: impl Fn(Instant) -> bool) -> (Duration, usize) {
        let counting = self.due.iter().zip(&self.each).filter(|(due, _)| counts(**due));
        let each: Vec<Duration> = counting.map(|(_, taken)| *taken).collect();
        (within(&each, share), each.len())
    }

    /// The time that this share of checks was begun within.
    pub(super) fn begun_within(&self, share: f64) -> Duration {
        within(&self.late, share)
    }

    /// Checks per second.
    pub(super) fn rate(&self) -> f64 {
        self.each.len() as f64 / self.whole.as_secs_f64()
    }
}

fn within(times: &[Duration], share: f64) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
    let index = (sorted.len() as f64 * share) as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Those who ask, and are there from round to round.
pub(super) struct Crowd<T> {
    talkers: Vec<T>,
}

impl<T: Talker> Crowd<T> {
    pub(super) fn new(talkers: Vec<T>) -> Self {
        Self { talkers }
    }

    /// The closed loop: each asks for so many together, and for the next when they are answered.
    pub(super) async fn ask(&mut self, checks: Range<usize>, together: usize) -> Result<Times> {
        let (next, start) = (Arc::new(AtomicUsize::new(checks.start)), Instant::now());
        let mut tasks = JoinSet::new();
        for talker in self.talkers.drain(..) {
            tasks.spawn(ask_in_turn(talker, Arc::clone(&next), checks.end, together));
        }
        let mut times = Times::default();
        while let Some(task) = tasks.join_next().await {
            let (talker, taken) = task.context("a task has come to an end of its own")??;
            times.each.extend(taken);
            self.talkers.push(talker);
        }
        times.whole = start.elapsed();
        Ok(times)
    }
}

async fn ask_in_turn<T: Talker>(
    mut talker: T,
    next: Arc<AtomicUsize>,
    end: usize,
    together: usize,
) -> Result<(T, Vec<Duration>)> {
    let mut taken = Vec::new();
    loop {
        let first = next.fetch_add(together, Relaxed);
        if first >= end {
            return Ok((talker, taken));
        }
        let (start, checks) = (Instant::now(), first..end.min(first + together));
        let count = checks.len();
        talker.ask(checks).await?;
        taken.extend(std::iter::repeat_n(start.elapsed(), count));
    }
}
