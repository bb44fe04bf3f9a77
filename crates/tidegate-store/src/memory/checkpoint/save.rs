//! From the store to bytes.

use std::collections::HashMap;
use std::io::{self, Write};

use tidegate_core::portable::put;
use tidegate_core::{State, Timestamp};

use super::blocks::{MOST, Writer};
use super::{Kind, SHORTEST_WINDOW_US, Saved, tag};
use crate::memory::Memory;
use crate::memory::carried::bytes_of;
use crate::memory::registry::Registered;
use crate::memory::slot::{Content, Hash};

/// A block is written once it has so many bytes.
const ENOUGH: usize = 64 << 10;

/// What is kept free for the last block.
const END_BYTES: u64 = 64;

/// A checkpoint in the making.
struct Saving<'m, W> {
    memory: &'m Memory,
    now: Timestamp,
    writer: Writer<W>,
    max_bytes: u64,
    /// The block that is being filled.
    block: Vec<u8>,
    /// The numbers of limits in the file, by those in the registry.
    limits: HashMap<u16, u64>,
    saved: Saved,
}

/// Writes what the store holds. First the table, then what was carried over, then the rest: what moves meanwhile moves that
/// way, so that it is met at least once.
pub(super) fn save(memory: &Memory, out: impl Write, now: Timestamp, max_bytes: u64) -> io::Result<Saved> {
    let mut saving = Saving::start(memory, out, (now, max_bytes))?;
    memory.table.walk(now, |contents| contents.iter().try_for_each(|content| saving.packed(*content)))?;
    memory.carried.sweep(now, |state| memory.rest.release(bytes_of(state)));
    memory.carried.walk(|hash, state| saving.loose(hash, &state))?;
    let note = |key: &[u8], state: &State| {
        let is_long = state.may_be_of_window(SHORTEST_WINDOW_US) && state.empty_at() > now;
        is_long.then(|| (memory.table.hash_of(key), state.clone()))
    };
    memory.rest.walk(note, |(hash, state)| saving.loose(hash, &state))?;
    saving.finish()
}

impl<'m, W: Write> Saving<'m, W> {
    fn start(memory: &'m Memory, out: W, (now, max_bytes): (Timestamp, u64)) -> io::Result<Self> {
        let mut writer = Writer::start(out)?;
        let mut head = vec![Kind::Head as u8];
        head.extend(memory.table.key().iter().flat_map(|half| half.to_le_bytes()));
        put(now.as_micros(), &mut head);
        for segments in memory.table.segments() {
            put(segments as u64, &mut head);
        }
        writer.write(&head)?;
        let (block, limits) = (vec![Kind::Entries as u8], HashMap::new());
        Ok(Self { memory, now, writer, max_bytes, block, limits, saved: Saved::default() })
    }

    /// A counter of the table.
    fn packed(&mut self, content: Content) -> io::Result<()> {
        let Some(entry) = self.memory.table.registry.get(content.number()) else { return Ok(()) };
        if entry.limit.window_us() < Some(SHORTEST_WINDOW_US) {
            return Ok(());
        }
        let state = entry.state(content, self.now);
        if state.empty_at() <= self.now {
            return Ok(());
        }
        self.counter(Some(entry), content.hash(), &state)
    }

    /// A counter that is not in the table: its limit is not known.
    fn loose(&mut self, hash: Hash, state: &State) -> io::Result<()> {
        self.counter(None, hash, state)
    }

    fn counter(&mut self, limit: Option<&Registered>, hash: Hash, state: &State) -> io::Result<()> {
        let before = (self.block.len(), self.limits.len());
        let tag = limit.map_or(tag::LOOSE, |entry| tag::OF_LIMIT + self.number(entry));
        put(tag, &mut self.block);
        self.block.extend(hash.bits().to_le_bytes());
        state.write_to(&mut self.block);
        if !self.has_room() {
            self.block.truncate(before.0);
            if let Some(entry) = limit.filter(|_| self.limits.len() > before.1) {
                self.limits.remove(&entry.number);
            }
            self.saved.left_out += 1;
            return Ok(());
        }
        self.saved.counters += 1;
        if self.block.len() >= ENOUGH { self.flush() } else { Ok(()) }
    }

    /// The number of a limit, which is written now if it was not.
    fn number(&mut self, entry: &Registered) -> u64 {
        let next = self.limits.len() as u64;
        *self.limits.entry(entry.number).or_insert_with(|| {
            put(tag::LIMIT, &mut self.block);
            entry.limit.write_to(&mut self.block);
            next
        })
    }

    fn has_room(&self) -> bool {
        self.block.len() <= MOST && self.writer.bytes_with(self.block.len()) + END_BYTES <= self.max_bytes
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.write(&self.block)?;
        self.block.truncate(1);
        Ok(())
    }

    fn finish(mut self) -> io::Result<Saved> {
        if self.block.len() > 1 {
            self.flush()?;
        }
        let mut end = vec![Kind::End as u8];
        put(self.saved.counters, &mut end);
        put(self.saved.left_out, &mut end);
        self.writer.write(&end)?;
        Ok(Saved { bytes: self.writer.finish()?, ..self.saved })
    }
}
