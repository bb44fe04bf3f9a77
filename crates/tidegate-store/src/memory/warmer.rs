//! Memory ahead of need: a thread that has the system give the next pages while nobody waits for them.
//!
//! A table that grows takes page after page. If it takes them from the system itself, whoever comes upon that waits for it,
//! and the pages are small ones, which makes everybody slower who goes through a large table. A huge page is cleared as a
//! whole first, which can take a millisecond; so that is done by a thread of its own, one huge page ahead.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

use super::arena::{Arena, HUGE_BYTES, Line};

/// Lines of a huge page.
const CHUNK: usize = HUGE_BYTES / size_of::<Line>();

/// Tables smaller than this are warm as they are.
const LEAST: usize = 4 * CHUNK;

/// How far ahead of need the next is asked for.
const AHEAD: usize = CHUNK / 2;

/// Warms the lines of an arena from some place on, one chunk after another.
pub(super) struct Warmer {
    first: usize,
    end: usize,
    wanted: Arc<Wanted>,
    thread: OnceLock<Option<Thread>>,
}

struct Wanted {
    /// Up to here lines are warm, or will be soon.
    until: AtomicUsize,
    is_over: AtomicBool,
}

impl Warmer {
    /// For those lines of an arena.
    pub(super) fn new(lines: Range<usize>) -> Self {
        let wanted =
            Arc::new(Wanted { until: AtomicUsize::new(lines.start), is_over: AtomicBool::new(false) });
        Self { first: lines.start, end: lines.end, wanted, thread: OnceLock::new() }
    }

    /// Told that lines were taken up to this one: asks for the next chunk if it is near.
    pub(super) fn taken(&self, line: usize, arena: &Arena) {
        let until = self.wanted.until.load(Ordering::Relaxed);
        if line < self.first + LEAST || line + AHEAD < until || until >= self.end {
            return;
        }
        let next = line.max(until).next_multiple_of(CHUNK) + CHUNK;
        let is_ours = self.wanted.until.compare_exchange(
            until,
            next.min(self.end),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if is_ours.is_ok()
            && let Some(thread) = self.thread.get_or_init(|| self.start(until.max(line), arena))
        {
            thread.unpark();
        }
    }

    /// A system that has no thread to give is as good as one without huge pages.
    fn start(&self, from: usize, arena: &Arena) -> Option<Thread> {
        let (wanted, arena) = (Arc::clone(&self.wanted), arena.clone());
        let named = thread::Builder::new().name("tidegate-memory".to_owned());
        let handle = named.spawn(move || work(from.next_multiple_of(CHUNK), &wanted, &arena)).ok()?;
        Some(handle.thread().clone())
    }
}

impl Drop for Warmer {
    fn drop(&mut self) {
        self.wanted.is_over.store(true, Ordering::Release);
        if let Some(Some(thread)) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// Warms what is wanted, from there on, until it is over.
fn work(mut done: usize, wanted: &Wanted, arena: &Arena) {
    while !wanted.is_over.load(Ordering::Acquire) {
        let until = wanted.until.load(Ordering::Acquire);
        if done >= until {
            thread::park();
            continue;
        }
        arena.warm(done..until.min(done + CHUNK));
        done += CHUNK;
    }
}
