//! A child under callgrind, from its start to its totals.

use std::fs;
use std::process::{self, Stdio};

use anyhow::{Context, Result, ensure};

use super::{Events, read};
use crate::child::Child;
use crate::engines::Width;
use crate::protocol::{Command, Run, Spec};

/// The last-level cache of a child that is followed from its start: 2 MiB, 16 ways, lines of 64 bytes.
const SMALL_LAST_LEVEL: &str = "2097152,16,64";

/// That of one that is followed when it has loaded many keys: 32 MiB, as cores of servers share it.
const LAST_LEVEL: &str = "33554432,16,64";

/// Turns the counting on in a process that has begun without.
const CONTROL: &str = "callgrind_control";

/// From when on callgrind follows what a child does. That costs a hundred times its time even where nothing is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    Start,
    /// Since all keys are there: the simulated caches are empty then.
    Loaded,
}

/// A child under callgrind, at work.
pub(super) struct Counted {
    child: Child,
    file: String,
    run: Run,
    since: Since,
}

impl Counted {
    /// Starts a child and has it load so many keys.
    pub(super) fn start(spec: Spec, keys: u32, (run, since): (Run, Since)) -> Result<Self> {
        let name = format!("tidegate-bench-{}-{}.callgrind", process::id(), run.repeats);
        let file = std::env::temp_dir().join(name).to_string_lossy().into_owned();
        let options =
            ["valgrind", "--quiet", "--tool=callgrind", "--cache-sim=yes", "--toggle-collect=*timed_loop*"];
        let mut wrapper: Vec<String> = options.map(str::to_owned).to_vec();
        let last_level = if since == Since::Loaded { LAST_LEVEL } else { SMALL_LAST_LEVEL };
        wrapper.extend([format!("--LL={last_level}"), format!("--callgrind-out-file={file}")]);
        // It warns of the caches that it finds, though it is told which to simulate; the child's own messages stay.
        wrapper.push("--log-file=/dev/null".to_owned());
        if since == Since::Loaded {
            wrapper.push("--instr-atstart=no".to_owned());
        }
        let mut child = Child::start_under(&wrapper, spec)?;
        child.tell(Command::Load { keys, width: Width::Narrow })?;
        Ok(Self { child, file, run, since })
    }

    /// Has it do what is counted.
    pub(super) fn run(&mut self) -> Result<()> {
        if self.since == Since::Loaded {
            self.child.answer::<1>()?;
            ensure!(
                controlled(&["-i", "on", &self.child.id().to_string()]),
                "{CONTROL} cannot turn the counting on"
            );
        }
        self.child.tell(Command::Run(self.run))
    }

    pub(super) fn finish(self) -> Result<Events> {
        self.child.finish()?;
        let text =
            fs::read_to_string(&self.file).with_context(|| format!("callgrind left no {}", self.file))?;
        fs::remove_file(&self.file)?;
        read(&text).context("cannot read callgrind's totals")
    }
}

/// Whether there is what [`Since::Loaded`] needs; valgrind brings it.
pub(super) fn can_begin_late() -> bool {
    controlled(&["--version"])
}

fn controlled(words: &[&str]) -> bool {
    let run = process::Command::new(CONTROL).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}
