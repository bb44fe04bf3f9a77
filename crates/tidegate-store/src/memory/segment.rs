//! A part of the table: up to a dozen pages of lines, in two of which a counter may stand, and two more for those that
//! found both full.
//!
//! What a segment consists of stands in one line, its entry in the directory: a header, and the numbers of its pages. The
//! header has a version. Whoever looks for a counter takes the header first, and looks whether it is the same still when
//! they have read or locked what they found. Whoever replaces the pages makes the header busy, takes the lock bits of all
//! slots, fills other pages, and only then writes the new header. So who has locked a slot and finds the header unchanged
//! has the counter's only slot; and who finds it changed has locked something that may by now be anybody's, has changed
//! nothing in it, gives it back, and looks again.

use tidegate_core::{Packing, Timestamp};

use super::arena::Line;
use super::page::{LINES_PER_PAGE, MAIN_LINES, Width, scaled, within};
use super::pool::Pages;
use super::registry::Registry;
use super::slot::{Content, Hash, Slot};
use super::sync::{AtomicU64, Ordering, pause};

/// The most pages of a segment.
pub(super) const MAX_PAGES: usize = 12;

/// An hour in units of 2 to the twentieth of a microsecond, about a second: the time in an entry.
const HOUR: u64 = Packing::SWEEP_US >> 20;

/// Where things are in an entry of the directory.
const HEADER: usize = 0;
const TALLY: usize = 1;
const PAGES: usize = 2;

/// The version, the number of pages and the number of bits of a hash that select the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header(u64);

/// A segment as it was when somebody looked.
#[derive(Clone, Copy)]
pub(super) struct Segment<'a> {
    entry: &'a Line,
    lines: &'a [Line],
    header: Header,
    width: Width,
}

/// What came of looking for a place for a new counter.
pub(super) enum Claimed {
    /// It has a place now.
    New,
    /// Somebody else has given it one.
    There,
    /// The segment has changed meanwhile.
    Changed,
    /// All of its places are taken.
    Full,
}

/// Where a new counter is put.
enum Place<'a> {
    /// In the gate, which was free if it is new.
    Gate { is_new: bool },
    /// In a place that was free, and is locked now.
    Free(Slot<'a>),
    /// In that of another that has emptied, and is locked now.
    Emptied(Slot<'a>),
    /// There is none.
    None,
}

impl Header {
    const BUSY: u64 = 1 << 9;
    const VERSION: u64 = 1 << 10;

    #[inline]
    pub(super) const fn pages(self) -> usize {
        (self.0 & 0xf) as usize
    }

    /// How many bits of a hash select the segment.
    #[inline]
    pub(super) const fn depth(self) -> u32 {
        (self.0 >> 4 & 0x1f) as u32
    }

    #[inline]
    const fn is_busy(self) -> bool {
        self.0 & Self::BUSY != 0
    }

    /// The next one, with so many pages and bits.
    const fn next(self, pages: usize, depth: u32) -> Self {
        let version = (self.0 & !(Self::VERSION - 1)).wrapping_add(Self::VERSION);
        Self(version | (depth as u64) << 4 | pages as u64)
    }
}

impl<'a> Segment<'a> {
    /// The segment of that entry; waits while somebody changes it.
    #[inline]
    pub(super) fn look(entry: &'a Line, lines: &'a [Line], width: Width) -> Self {
        let mut looks = 0;
        loop {
            let header = Header(entry.0[HEADER].load(Ordering::Acquire));
            if !header.is_busy() {
                return Self { entry, lines, header, width };
            }
            pause(&mut looks);
        }
    }

    #[inline]
    pub(super) const fn width(self) -> Width {
        self.width
    }

    #[inline]
    pub(super) const fn header(self) -> Header {
        self.header
    }

    /// Whether nobody has changed it since.
    #[inline]
    pub(super) fn is_current(self) -> bool {
        self.entry.0[HEADER].load(Ordering::Acquire) == self.header.0
    }

    pub(super) const fn slots(self) -> usize {
        self.header.pages() * self.width.slots_per_page()
    }

    /// How many counters it holds, those included that have emptied and were not swept yet.
    pub(super) fn occupied(self) -> usize {
        usize::try_from(self.entry.0[TALLY].load(Ordering::Relaxed) & 0xffff_ffff).unwrap_or(0)
    }

    /// The cache line where a counter most likely stands; `None` in a segment without pages.
    #[inline]
    pub(super) fn first_line_of(self, hash: Hash) -> Option<&'a Line> {
        (self.header.pages() > 0).then(|| self.line(hash.first()))
    }

    /// The slot of a counter, looked for in its first line before all others.
    #[inline]
    pub(super) fn find(self, first: &'a Line, hash: Hash) -> Option<Slot<'a>> {
        self.width.find_in(first, hash).or_else(|| self.find_further(hash))
    }

    #[inline(never)]
    fn find_further(self, hash: Hash) -> Option<Slot<'a>> {
        let [_, further @ ..] = self.candidates(hash);
        further.into_iter().find_map(|line| self.width.find_in(line, hash))
    }

    /// Finds a free place for a new counter, one that has emptied if need be. Whoever gives places to counters of one line
    /// holds the lock bit of the line's first slot meanwhile, so that no counter gets two.
    pub(super) fn claim(self, content: Content, judge: impl Fn(Content) -> bool) -> Claimed {
        if self.header.pages() == 0 {
            return if self.is_current() { Claimed::Full } else { Claimed::Changed };
        }
        let lines = self.candidates(content.hash());
        let gate = self.width.slot(lines[0], 0);
        if !gate.lock(|| !self.is_current()) {
            return Claimed::Changed;
        }
        if !self.is_current() {
            gate.unlock();
            return Claimed::Changed;
        }
        if lines.iter().any(|line| self.width.find_in(line, content.hash()).is_some()) {
            gate.unlock();
            return Claimed::There;
        }
        match self.place(lines, gate, &judge) {
            Place::Gate { is_new } => {
                if is_new {
                    self.add_one();
                }
                gate.unlock_with(content);
                return Claimed::New;
            }
            Place::Free(slot) => {
                self.add_one();
                slot.unlock_with(content);
            }
            Place::Emptied(slot) => slot.unlock_with(content),
            Place::None => {
                gate.unlock();
                return Claimed::Full;
            }
        }
        gate.unlock();
        Claimed::New
    }

    /// The counters with a chance to be dropped for a new one: those in its lines.
    pub(super) fn rivals(self, hash: Hash) -> impl Iterator<Item = Slot<'a>> {
        let lines = (self.header.pages() > 0).then(|| self.candidates(hash));
        lines.into_iter().flatten().flat_map(move |line| self.width.slots(line))
    }

    /// Gives the place of a counter back whose lock bit is held. It is counted first: whoever waits for the lock bits of all
    /// slots, to count anew, must not be told afterwards.
    pub(super) fn remove(self, slot: Slot<'_>) {
        self.entry.0[TALLY].fetch_sub(1, Ordering::Relaxed);
        slot.unlock_free();
    }

    /// Counts one more, while its lock bit or that of its gate is held.
    fn add_one(self) {
        self.entry.0[TALLY].fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it is time to sweep it: once in an hour, and when the clock was set back.
    #[inline]
    pub(super) fn is_due(self, now: Timestamp) -> bool {
        let swept = self.entry.0[TALLY].load(Ordering::Relaxed) >> 32;
        let since = (now.as_micros() >> 20).wrapping_sub(swept);
        since.wrapping_add(HOUR) >= 2 * HOUR && self.header.pages() > 0
    }

    /// When it was last swept, rounded down.
    pub(super) fn swept_us(self) -> u64 {
        self.entry.0[TALLY].load(Ordering::Relaxed) >> 32 << 20
    }

    /// Frees the places of counters that have emptied.
    pub(super) fn sweep(self, registry: &Registry, now: Timestamp) {
        self.set_swept(now);
        for slot in self.all_slots() {
            if slot.is_free() || !slot.try_lock() {
                continue;
            }
            match slot.held() {
                Some(content) if self.is_current() && registry.is_empty(content, now, 0) => {
                    self.remove(slot);
                }
                _ => slot.unlock(),
            }
        }
    }

    /// The same where nobody has looked for so long that times cannot be told apart any more: all of it at once.
    pub(super) fn purge(self, registry: &Registry, now: Timestamp) {
        let untouched_us = now.as_micros().saturating_sub(self.swept_us()).saturating_sub(Packing::SWEEP_US);
        if !self.seize() {
            return;
        }
        let mut counters = 0;
        for slot in self.all_slots() {
            slot.lock(|| false);
            match slot.held() {
                Some(content) if registry.is_empty(content, now, untouched_us) => slot.unlock_free(),
                held => {
                    counters += usize::from(held.is_some());
                    slot.unlock();
                }
            }
        }
        self.replace(&self.page_numbers(), self.header.depth(), (counters, now));
    }

    /// Makes it busy, if nobody has changed it: it is the caller's to [replace](Self::replace) then.
    pub(super) fn seize(self) -> bool {
        let header = self.header.0;
        self.entry.0[HEADER]
            .compare_exchange(header, header | Header::BUSY, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes the lock bits of all slots of a segment that was seized, and gives what they hold to `take`. From then on nobody
    /// changes them.
    pub(super) fn close(self, mut take: impl FnMut(Content)) {
        for slot in self.all_slots() {
            // Who holds it took it before this was seized, and lets go soon.
            slot.lock(|| false);
            if let Some(content) = slot.held() {
                take(content);
            }
        }
    }

    /// Puts other pages in the place of those of a segment that was seized, and says which they were.
    pub(super) fn replace(self, pages: &[u32], depth: u32, (counters, now): (usize, Timestamp)) -> Pages {
        let old = self.page_numbers();
        self.write(pages, (counters, now));
        self.entry.0[HEADER].store(self.header.next(pages.len(), depth).0, Ordering::Release);
        old
    }

    /// Gives a segment that was seized back as it was, with its lock bits.
    pub(super) fn let_go(self) {
        self.all_slots().for_each(Slot::unlock);
        self.entry.0[HEADER].store(self.header.0, Ordering::Release);
    }

    fn write(self, pages: &[u32], (counters, now): (usize, Timestamp)) {
        for (word, pair) in self.entry.0[PAGES..].iter().zip(pages.chunks(2)) {
            let [low, high] = [pair[0], *pair.get(1).unwrap_or(&0)];
            word.store(u64::from(high) << 32 | u64::from(low), Ordering::Release);
        }
        self.entry.0[TALLY].store(now.as_micros() >> 20 << 32 | counters as u64, Ordering::Release);
    }

    fn set_swept(self, now: Timestamp) {
        let tally: &AtomicU64 = &self.entry.0[TALLY];
        let mut before = tally.load(Ordering::Relaxed);
        loop {
            let after = now.as_micros() >> 20 << 32 | before & 0xffff_ffff;
            match tally.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(other) => before = other,
            }
        }
    }

    /// A place for a new counter, whose gate is locked, in one of its lines: in the first if that is half empty, or if its gate has
    /// emptied; else where there is more room, and in the stash if there is none; else where another has emptied.
    #[inline]
    fn place(self, lines: [&'a Line; 4], gate: Slot<'a>, judge: &impl Fn(Content) -> bool) -> Place<'a> {
        let (width, [first, second, ..]) = (self.width, lines);
        let held = gate.held();
        let room = width.free(first) + usize::from(held.is_none());
        if room < width.slots_per_line() / 2 {
            if held.is_some_and(judge) {
                return Place::Gate { is_new: false };
            }
            if width.free(second) > room
                && let Some(slot) = width.take_free(second)
            {
                return Place::Free(slot);
            }
        }
        if held.is_none() {
            return Place::Gate { is_new: true };
        }
        if let Some(slot) = lines.into_iter().find_map(|line| width.take_free(line)) {
            return Place::Free(slot);
        }
        let mut slots = lines.into_iter().flat_map(|line| width.slots(line));
        slots.find(|slot| take_emptied(*slot, judge)).map_or(Place::None, Place::Emptied)
    }

    /// The line that these bits select.
    #[inline]
    fn line(self, bits: u32) -> &'a Line {
        let (page, rest) = scaled(bits, self.header.pages());
        &self.lines[self.first_line(page) + scaled(rest, MAIN_LINES).0]
    }

    /// The first line of a page.
    #[inline]
    fn first_line(self, page: usize) -> usize {
        let word = self.entry.0[PAGES + page / 2].load(Ordering::Relaxed);
        (word >> (page % 2 * 32) & 0xffff_ffff) as usize * LINES_PER_PAGE
    }

    /// The lines of a counter: two, and then one of the stash for each.
    #[inline]
    fn candidates(self, hash: Hash) -> [&'a Line; 4] {
        let both = |bits| {
            let (page, line, stash) = within(bits, self.header.pages());
            let first = self.first_line(page);
            (&self.lines[first + line], &self.lines[first + stash])
        };
        let ((first, stash), (second, other)) = (both(hash.first()), both(hash.second()));
        [first, second, stash, other]
    }

    fn page_numbers(self) -> Pages {
        let number = |page: usize| {
            let word = self.entry.0[PAGES + page / 2].load(Ordering::Relaxed);
            u32::try_from(word >> (page % 2 * 32) & 0xffff_ffff).unwrap_or(0)
        };
        (0..self.header.pages()).map(number).collect()
    }

    pub(super) fn all_slots(self) -> impl Iterator<Item = Slot<'a>> {
        let (lines, width) = (self.lines, self.width);
        self.page_numbers().into_iter().flat_map(move |page| width.slots_of_page(page, lines))
    }
}

/// Takes the lock bit of a slot whose counter has emptied.
fn take_emptied(slot: Slot<'_>, judge: impl Fn(Content) -> bool) -> bool {
    if !slot.try_lock() {
        return false;
    }
    let emptied = slot.held().is_some_and(judge);
    if !emptied {
        slot.unlock();
    }
    emptied
}
