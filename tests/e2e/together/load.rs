//! A connection to every node for every class, each asking at a steady pace until it is enough.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::asker::Asker;
use super::history::{Event, History};
use super::traffic::{CLASSES, Caller};

/// How often each connection asks.
const STEP: Duration = Duration::from_millis(15);

/// The longest that an answer may take: ten times the deadline of a call of Redis.
pub(super) const CEILING: Duration = Duration::from_secs(2);

/// Load that goes on in the background.
pub(super) struct Load {
    start: Instant,
    enough: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<Event>>>,
}

impl Load {
    /// Begins to ask these nodes, for callers that belong to a series.
    pub(super) fn start(nodes: &[SocketAddr], series: &str) -> Self {
        let (start, enough) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let mut threads = Vec::new();
        for (node, address) in nodes.iter().copied().enumerate() {
            for class in CLASSES {
                let (enough, series) = (Arc::clone(&enough), series.to_owned());
                let asker = Asker::connect(address, CEILING);
                let mut stream = Stream { node, class, series, asker, start };
                threads.push(thread::spawn(move || stream.run(&enough)));
            }
        }
        Self { start, enough, threads }
    }

    /// How long it has been going on.
    pub(super) fn age(&self) -> Duration {
        self.start.elapsed()
    }

    /// Lets it go on for so long.
    pub(super) fn go_on(&self, length: Duration) {
        let end = self.age() + length;
        while let Some(left) = end.checked_sub(self.age()) {
            thread::sleep(left);
        }
    }

    /// Ends it, and gives all that was said.
    pub(super) fn stop(self) -> History {
        self.enough.store(true, Ordering::Relaxed);
        let events = self.threads.into_iter().flat_map(|thread| thread.join().unwrap());
        History::new(events.collect())
    }
}

/// What one connection asks.
struct Stream {
    node: usize,
    class: &'static str,
    series: String,
    asker: Asker,
    start: Instant,
}

impl Stream {
    fn run(&mut self, enough: &AtomicBool) -> Vec<Event> {
        let mut events = Vec::new();
        let mut next = 0;
        while !enough.load(Ordering::Relaxed) {
            let step = self.wait_for(next);
            next = step + 1;
            events.push(self.ask(step));
        }
        events
    }

    /// Waits for the step, or for the one that it is time for by now: who was held up does not make up for it.
    fn wait_for(&self, step: usize) -> usize {
        let early = (STEP * u32::try_from(step).unwrap()).saturating_sub(self.start.elapsed());
        thread::sleep(early);
        step.max(usize::try_from(self.start.elapsed().as_micros() / STEP.as_micros()).unwrap())
    }

    fn ask(&mut self, step: usize) -> Event {
        let caller = Caller::at(step);
        let from = self.start.elapsed();
        let (plan, key) = (caller.plan(self.class), caller.key(&self.series));
        let said = self.asker.check(&plan, &key, &caller.org(&self.series));
        Event { node: self.node, class: self.class, caller, from, to: self.start.elapsed(), said }
    }
}
