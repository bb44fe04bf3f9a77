//! The parent's end of a child process: one engine, loaded once and asked in turn with the others.

use std::io::{BufRead, BufReader, Write};
use std::process::{self, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::protocol::{Command, Spec, numbers};

/// A running child. It ends when its standard input does, so also when the parent fails.
pub(crate) struct Child {
    spec: Spec,
    process: process::Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Child {
    pub(crate) fn start(spec: Spec) -> Result<Self> {
        Self::start_under(&[], spec)
    }

    /// Starts this same program as a child, run by `wrapper` if that is not empty.
    pub(crate) fn start_under(wrapper: &[String], spec: Spec) -> Result<Self> {
        let own = std::env::current_exe().context("cannot find this program's own file")?;
        let own = own.to_str().context("the path of this program is not UTF-8; move it")?.to_owned();
        let mut line = wrapper.to_vec();
        let Spec { engine, kind, limits } = spec;
        line.extend([own, "serve".into(), engine.to_string(), kind.to_string(), limits.to_string()]);
        let mut process = process::Command::new(&line[0])
            .args(&line[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", line[0]))?;
        let questions = process.stdin.take();
        let answers = process.stdout.take().context("a child without standard output")?;
        Ok(Self { spec, process, questions, answers: BufReader::new(answers) })
    }

    /// Asks and waits for the answer.
    pub(crate) fn ask<const N: usize>(&mut self, command: Command) -> Result<[u64; N]> {
        self.tell(command)?;
        self.answer().with_context(|| format!("{} could not {command}", self.spec.engine))
    }

    /// Asks only.
    pub(crate) fn tell(&mut self, command: Command) -> Result<()> {
        let questions = self.questions.as_mut().context("the child was told to finish")?;
        writeln!(questions, "{command}").with_context(|| format!("{} is gone", self.spec.engine))
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the answer to what it was told.
    pub(crate) fn answer<const N: usize>(&mut self) -> Result<[u64; N]> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            bail!("the child ended; its message is above");
        }
        numbers(&line)
    }

    /// Lets the child come to its end and waits for it.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.questions = None;
        let status = self.process.wait()?;
        ensure!(status.success(), "{} ended with {status}; its message is above", self.spec.engine);
        Ok(())
    }
}
