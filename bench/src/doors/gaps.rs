//! When the machine itself stands still: on each core a thread that goes before all others, does nothing but sleep for a millisecond,
//! and knows when it was woken late.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use rustix::process::setpriority_process;

use crate::cores::keep_to;

const TICK: Duration = Duration::from_millis(1);

/// Shorter ones are interrupts, and the work of others in the kernel.
const SHORTEST: Duration = Duration::from_micros(200);

/// Whoever was due so long before may have been held up by it.
pub(super) const BEFORE: Duration = Duration::from_millis(5);

/// So many times its length others are held up by all who came meanwhile.
pub(super) const AFTER: u32 = 20;

/// From when until when a core did nothing, or slept for a tick.
struct Gap {
    start: Instant,
    end: Instant,
}

impl Gap {
    fn length(&self) -> Duration {
        (self.end - self.start).saturating_sub(TICK)
    }
}

/// Those who watch.
pub(super) struct Watch {
    start: Instant,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<Vec<Gap>>>>,
}

impl Watch {
    pub(super) fn start(cores: &[usize]) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let watch = |core: &usize| {
            let (core, is_over) = (*core, Arc::clone(&is_over));
            spawn(move || watch(core, &is_over))
        };
        let threads = cores.iter().map(watch).collect();
        Self { start: Instant::now(), is_over, threads }
    }

    pub(super) fn end(self) -> Result<Gaps> {
        self.is_over.store(true, Relaxed);
        let (whole, mut gaps) = (self.start.elapsed() * u32::try_from(self.threads.len())?, Vec::new());
        for thread in self.threads {
            gaps.extend(
                thread
                    .join()
                    .map_err(|_| anyhow!("a thread that watches has come to an end of its own"))??,
            );
        }
        Ok(Gaps { gaps, whole })
    }
}

fn watch(core: usize, is_over: &AtomicBool) -> Result<Vec<Gap>> {
    keep_to(core)?;
    go_first();
    let mut gaps = Vec::new();
    while !is_over.load(Relaxed) {
        let start = Instant::now();
        sleep(TICK);
        let gap = Gap { start, end: Instant::now() };
        if gap.length() > SHORTEST {
            gaps.push(gap);
        }
    }
    Ok(gaps)
}

/// Whether a thread may go before all others. Without, the load may be taken for the machine, and more is left out.
pub(super) fn may_go_first() -> bool {
    spawn(go_first).join().unwrap_or_default()
}

fn go_first() -> bool {
    setpriority_process(None, -20).is_ok()
}

/// When cores stood still.
pub(super) struct Gaps {
    gaps: Vec<Gap>,
    /// How long all cores were watched.
    whole: Duration,
}

impl Gaps {
    /// Whether no core stood still shortly before or after that.
    pub(super) fn spare(&self, due: Instant) -> bool {
        !self.gaps.iter().any(|gap| gap.start < due + BEFORE && due < gap.end + gap.length() * AFTER)
    }

    /// The share of time that cores stood still, and the longest time.
    pub(super) fn told(&self) -> (f64, Duration) {
        let all: Duration = self.gaps.iter().map(Gap::length).sum();
        let longest = self.gaps.iter().map(Gap::length).max();
        (all.as_secs_f64() / self.whole.as_secs_f64(), longest.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_around_a_gap_does_not_count() {
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        let gaps =
            Gaps { gaps: vec![Gap { start: after(100), end: after(103) }], whole: Duration::from_secs(1) };
        assert_eq!(gaps.told(), (0.002, Duration::from_millis(2)));
        for (due, counts) in [(0, true), (95, true), (96, false), (103, false), (142, false), (143, true)] {
            assert_eq!(gaps.spare(after(due)), counts, "{due} ms");
        }
    }
}
