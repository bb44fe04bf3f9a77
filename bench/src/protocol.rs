//! What parent and child say to each other: a line asks, a line of numbers answers.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail};

use crate::engines::{Name, Width};
use crate::keys::{Access, Kind, sequence};

/// What a child is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) engine: Name,
    pub(crate) kind: Kind,
    pub(crate) limits: u32,
}

/// What a child is asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    /// Ask 20 times under a limit of 10; how many were admitted.
    Probe,
    /// Ask for each of so many keys once, under a limit of that width; by how many bytes the resident memory grew.
    Load { keys: u32, width: Width },
    /// See [`Run`]; nanoseconds and allocations.
    Run(Run),
}

/// Each of `threads` asks `ops` times, `repeats` times over, after a warm-up that is not counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) access: Access,
    pub(crate) threads: u32,
    pub(crate) ops: u32,
    pub(crate) repeats: u32,
    pub(crate) seed: u64,
}

/// What one thread asks for in a run.
pub(crate) struct Asked {
    pub(crate) warm_up: Vec<u32>,
    pub(crate) timed: Vec<u32>,
}

impl Run {
    pub(crate) fn asked(&self, keys: u32, thread: u32) -> Result<Asked> {
        let seed = self.seed * 64 + u64::from(thread) * 2;
        let warm_up = sequence(self.access, keys, self.ops / 2, seed)?;
        Ok(Asked { warm_up, timed: sequence(self.access, keys, self.ops, seed + 1)? })
    }
}

/// How often the most popular of so many keys is asked for in all of these runs, its loading included.
pub(crate) fn most_asked(keys: u32, runs: impl IntoIterator<Item = Run>) -> Result<u32> {
    let mut counts = vec![1_u32; keys as usize];
    for run in runs {
        for thread in 0..run.threads {
            let Asked { warm_up, timed } = run.asked(keys, thread)?;
            for index in warm_up {
                counts[index as usize] += 1;
            }
            for index in timed {
                counts[index as usize] += run.repeats;
            }
        }
    }
    Ok(counts.into_iter().max().unwrap_or(0))
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probe => write!(f, "probe"),
            Self::Load { keys, width } => write!(f, "load {keys} {width}"),
            Self::Run(Run { access, threads, ops, repeats, seed }) => {
                write!(f, "run {access} {threads} {ops} {repeats} {seed}")
            }
        }
    }
}

impl FromStr for Command {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> Result<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        Ok(match *words.as_slice() {
            ["probe"] => Self::Probe,
            ["load", keys, width] => Self::Load { keys: keys.parse()?, width: width.parse()? },
            ["run", access, threads, ops, repeats, seed] => Self::Run(Run {
                access: access.parse()?,
                threads: threads.parse()?,
                ops: ops.parse()?,
                repeats: repeats.parse()?,
                seed: seed.parse()?,
            }),
            _ => bail!(
                "cannot read the command {line:?}; write probe, load KEYS WIDTH or run ACCESS THREADS OPS REPEATS SEED"
            ),
        })
    }
}

/// The numbers of an answer.
pub(crate) fn numbers<const N: usize>(line: &str) -> Result<[u64; N]> {
    let numbers: Option<Vec<u64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
    let numbers = numbers.and_then(|numbers| numbers.try_into().ok());
    numbers.with_context(|| format!("expected {N} numbers from the child and got {line:?}"))
}
