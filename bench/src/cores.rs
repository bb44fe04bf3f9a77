//! The load and a server on cores of their own: where they take turns on one, a time to answer is the scheduler's as much as the server's.

use anyhow::Result;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// This thread on a core of its own, as long as this lives.
pub(crate) struct Apart {
    all: CpuSet,
}

impl Apart {
    /// Starts what has all other cores, if there are several, and keeps one for this thread.
    pub(crate) fn start<T>(start: impl FnOnce() -> Result<T>) -> Result<(T, Self)> {
        let all = sched_getaffinity(None)?;
        let (mut own, mut others) = (CpuSet::new(), all);
        if let Some(first) = (0..CpuSet::MAX_CPU).find(|core| all.is_set(*core)).filter(|_| all.count() > 1) {
            own.set(first);
            others.unset(first);
        } else {
            own = all;
        }
        let apart = Self { all };
        sched_setaffinity(None, &others)?;
        let started = start()?;
        sched_setaffinity(None, &own)?;
        Ok((started, apart))
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        if let Err(error) = sched_setaffinity(None, &self.all) {
            eprintln!("this thread keeps to its core: {error}");
        }
    }
}
