//! The load and a server on cores of their own, and awake: where they take turns on one, or it sleeps, a time to answer is the system's as
//! much as the server's.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

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

    /// All cores, this one among them.
    pub(crate) fn cores(&self) -> Vec<usize> {
        (0..CpuSet::MAX_CPU).filter(|core| self.all.is_set(*core)).collect()
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        if let Err(error) = sched_setaffinity(None, &self.all) {
            eprintln!("this thread keeps to its core: {error}");
        }
    }
}

/// This thread on that core from now on.
pub(crate) fn keep_to(core: usize) -> Result<()> {
    let mut only = CpuSet::new();
    only.set(core);
    Ok(sched_setaffinity(None, &only)?)
}

/// Cores that do not sleep, as long as this lives. One that sleeps takes its time to wake, and a virtual one waits for its host then:
/// milliseconds that are nobody's who is measured. What measures times to wake asks the system for the same.
pub(crate) struct Awake {
    _wish: File,
}

impl Awake {
    /// Only for those who may ask the system for it, where it can be asked.
    pub(crate) fn keep() -> std::io::Result<Self> {
        let mut wish = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
        // So many microseconds may pass until a core is awake. It is taken back with the file.
        wish.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self { _wish: wish })
    }
}
