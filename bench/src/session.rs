//! The child: holds one engine and does what its standard input says, until that ends.

use std::io::{self, BufRead, Write};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::allocations;
use crate::engines::{Dashmap, Engine, Governor, KeyOnly, Limitador, Name, Setup, Throttlecrab, Tidegate};
use crate::keys::{Key, Kind};
use crate::memory::resident_bytes;
use crate::protocol::{Asked, Command, Run, Spec};

/// Serves one engine. The only place where an engine is chosen at run time; from here on all is compiled per engine.
pub(crate) fn serve(spec: Spec) -> Result<()> {
    match spec.limits {
        1 => with_limits::<1>(spec),
        4 => with_limits::<4>(spec),
        limits => bail!("built for 1 or 4 limits, not for {limits}"),
    }
}

fn with_limits<const LIMITS: usize>(spec: Spec) -> Result<()> {
    match (spec.engine, spec.kind) {
        (Name::Tidegate, Kind::Text) => answer_all::<Tidegate<LIMITS>, String>(spec),
        (Name::Tidegate, Kind::Number) => answer_all::<Tidegate<LIMITS>, u64>(spec),
        (Name::Governor, Kind::Text) => answer_all::<Governor<String, LIMITS>, String>(spec),
        (Name::Governor, Kind::Number) => answer_all::<Governor<u64, LIMITS>, u64>(spec),
        (Name::Throttlecrab, Kind::Text) => answer_all::<Throttlecrab<LIMITS>, String>(spec),
        (Name::Limitador, Kind::Text) => answer_all::<Limitador<LIMITS>, String>(spec),
        (Name::Dashmap, Kind::Text) => answer_all::<Dashmap<String, LIMITS>, String>(spec),
        (Name::Dashmap, Kind::Number) => answer_all::<Dashmap<u64, LIMITS>, u64>(spec),
        (Name::KeyOnly, Kind::Text) => answer_all::<KeyOnly, String>(spec),
        (Name::KeyOnly, Kind::Number) => answer_all::<KeyOnly, u64>(spec),
        (engine, kind) => bail!("{engine} does not take {kind} keys"),
    }
}

fn answer_all<E: Engine<K>, K: Key>(spec: Spec) -> Result<()> {
    let mut session = None;
    for line in io::stdin().lock().lines() {
        let answer = answer::<E, K>(&mut session, spec, line?.parse()?)?;
        writeln!(io::stdout(), "{answer}")?;
    }
    // Freeing millions of keys one by one is nobody's interest.
    std::mem::forget(session);
    Ok(())
}

fn answer<E: Engine<K>, K: Key>(
    session: &mut Option<Session<E>>,
    spec: Spec,
    command: Command,
) -> Result<String> {
    match command {
        Command::Probe => Ok(probe::<E, K>()?.to_string()),
        Command::Load { keys, width } => {
            let before = resident_bytes()?;
            let loaded = session.insert(Session::load::<K>(Setup::new(width, keys))?);
            loaded.holds(keys as usize * spec.limits as usize)?;
            Ok(resident_bytes()?.saturating_sub(before).to_string())
        }
        Command::Run(run) => session.as_ref().context("load keys before a run")?.run::<K>(run),
    }
}

fn probe<E: Engine<K>, K: Key>() -> Result<usize> {
    let engine = E::new(Setup::ten())?;
    let mut key = K::fresh();
    key.set(7);
    Ok((0..20).filter(|_| engine.decide(&key)).count())
}

struct Session<E> {
    engine: E,
    keys: u32,
}

/// What one thread saw.
struct Span {
    began: Instant,
    ended: Instant,
    refused: u64,
    allocations: u64,
}

impl<E> Session<E> {
    fn load<K: Key>(setup: Setup) -> Result<Self>
    where
        E: Engine<K>,
    {
        let engine = E::new(setup)?;
        let mut key = K::fresh();
        for index in 0..setup.keys {
            key.set(index);
            ensure!(engine.decide(&key), "key {index} was refused while loading");
        }
        Ok(Self { engine, keys: setup.keys })
    }

    /// A table that has dropped keys would be timed as a smaller one.
    fn holds<K>(&self, expected: usize) -> Result<()>
    where
        E: Engine<K>,
    {
        let held = self.engine.held().unwrap_or(expected);
        ensure!(held == expected, "holds {held} counters after loading, not {expected}");
        Ok(())
    }

    fn run<K: Key>(&self, run: Run) -> Result<String>
    where
        E: Engine<K>,
    {
        let start = Barrier::new(run.threads as usize);
        let spans: Vec<Span> = thread::scope(|scope| {
            let work = |thread| {
                let start = &start;
                scope.spawn(move || self.one_thread::<K>(run, thread, start))
            };
            let threads: Vec<_> = (0..run.threads).map(work).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?)
                .collect::<Result<_>>()
        })?;
        let refused: u64 = spans.iter().map(|span| span.refused).sum();
        ensure!(refused == 0, "{refused} requests were refused under a limit that should not be reached");
        let began = spans.iter().map(|span| span.began).min().context("no threads")?;
        let ended = spans.iter().map(|span| span.ended).max().context("no threads")?;
        let allocations: u64 = spans.iter().map(|span| span.allocations).sum();
        Ok(format!("{} {allocations}", (ended - began).as_nanos()))
    }

    fn one_thread<K: Key>(&self, run: Run, thread: u32, start: &Barrier) -> Result<Span>
    where
        E: Engine<K>,
    {
        let Asked { warm_up, timed } = run.asked(self.keys, thread)?;
        timed_loop::<E, K>(&self.engine, &warm_up);
        start.wait();
        let before = allocations::count();
        let began = Instant::now();
        let refused = (0..run.repeats).map(|_| timed_loop::<E, K>(&self.engine, &timed)).sum();
        Ok(Span { began, ended: Instant::now(), refused, allocations: allocations::count() - before })
    }
}

/// What is measured. Never inlined, so that callgrind can find it by its name. How many were refused.
#[inline(never)]
fn timed_loop<E: Engine<K>, K: Key>(engine: &E, sequence: &[u32]) -> u64 {
    let mut key = K::fresh();
    let mut refused = 0;
    for index in sequence {
        key.set(*index);
        refused += u64::from(!engine.decide(&key));
    }
    refused
}
