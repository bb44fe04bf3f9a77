//! From bytes to a store.

use std::io::Read;
use std::sync::atomic::AtomicBool;

use tidegate_core::portable::take;
use tidegate_core::{Limit, State, Timestamp};

use super::blocks::Reader;
use super::{CheckpointError, Kind, Restored, tag};
use crate::memory::Memory;
use crate::memory::carried::Arriving;
use crate::memory::slot::{Content, Hash};
use crate::memory::table::Table;
use crate::reference::Reference;

/// The most limits that there are numbers for in a store.
const MOST_LIMITS: usize = crate::memory::slot::MAX_NUMBER as usize;

/// A store in the making.
struct Restoring {
    table: Table,
    carried: Arriving,
    cap_bytes: usize,
    now: Timestamp,
    limits: Vec<Limit>,
    restored: Restored,
    /// How many counters were read.
    read: u64,
}

pub(super) fn restore(
    input: impl Read,
    cap_bytes: usize,
    now: Timestamp,
) -> Result<(Memory, Restored), CheckpointError> {
    let mut reader = Reader::start(input)?;
    let head = Restoring::start(reader.next()?, cap_bytes, now);
    let mut restoring = head.ok_or_else(|| reader.damaged())?;
    loop {
        let block = reader.next()?;
        let is_last = block.first() == Some(&(Kind::End as u8));
        let read = if is_last { restoring.end(block) } else { restoring.entries(block) };
        read.ok_or_else(|| reader.damaged())?;
        if is_last {
            reader.finish()?;
            return Ok(restoring.finish());
        }
    }
}

impl Restoring {
    fn start(head: &[u8], cap_bytes: usize, now: Timestamp) -> Option<Self> {
        let (first, rest) = body(head, Kind::Head)?.split_first_chunk()?;
        let (second, mut rest) = rest.split_first_chunk()?;
        let key = [u64::from_le_bytes(*first), u64::from_le_bytes(*second)];
        let saved_at = Timestamp::from_micros(take(&mut rest)?);
        let segments = [take(&mut rest)?, take(&mut rest)?];
        if !rest.is_empty() {
            return None;
        }
        let table = Table::with_key(Memory::table_bytes(cap_bytes), key);
        table.prepare(segments.map(|count| usize::try_from(count).unwrap_or(usize::MAX)), now);
        let restored = Restored { saved_at, ..Restored::default() };
        Some(Self {
            table,
            carried: Arriving::with_cap(Memory::carried_bytes(cap_bytes)),
            cap_bytes,
            now,
            limits: Vec::new(),
            restored,
            read: 0,
        })
    }

    fn entries(&mut self, block: &[u8]) -> Option<()> {
        let mut input = body(block, Kind::Entries)?;
        while !input.is_empty() {
            match take(&mut input)? {
                tag::LIMIT => {
                    self.limits.push(Limit::read_from(&mut input)?);
                    (self.limits.len() <= MOST_LIMITS).then_some(())?;
                }
                tag => self.counter(tag, &mut input)?,
            }
        }
        Some(())
    }

    fn counter(&mut self, tag: u64, input: &mut &[u8]) -> Option<()> {
        let limit = match tag.checked_sub(tag::OF_LIMIT) {
            Some(number) => Some(*self.limits.get(usize::try_from(number).ok()?)?),
            None => None,
        };
        let (hash, rest) = input.split_first_chunk()?;
        *input = rest;
        let hash = Hash::new(u64::from_le_bytes(*hash));
        let state = State::read_from(input)?;
        self.read += 1;
        self.put(limit, hash, state);
        Some(())
    }

    /// Gives a counter its place: in the table, if its limit is known and packs its state, or with those that wait.
    fn put(&mut self, limit: Option<Limit>, hash: Hash, state: State) {
        if state.empty_at() <= self.now {
            self.restored.emptied += 1;
            return;
        }
        let content = limit.and_then(|limit| {
            let entry = self.table.registry.enter(&limit)?;
            let packed = entry.packing.pack(&entry.limit, &state, self.now)?;
            Some((Content::new(hash, entry.number, packed), entry))
        });
        let has_place = if let Some((content, entry)) = content {
            self.table.put(content, entry, self.now)
        } else {
            self.table.forget(hash, self.now);
            self.carried.push(hash, state)
        };
        *(if has_place { &mut self.restored.counters } else { &mut self.restored.dropped }) += 1;
    }

    fn end(&mut self, block: &[u8]) -> Option<()> {
        let mut input = body(block, Kind::End)?;
        let counters = take(&mut input)?;
        self.restored.left_out = take(&mut input)?;
        (counters == self.read && input.is_empty()).then_some(())
    }

    fn finish(self) -> (Memory, Restored) {
        let (carried, rest) =
            (self.carried.finish(), Reference::with_cap(Memory::rest_bytes(self.cap_bytes)));
        rest.reserve(carried.bytes());
        let rest_is_used = AtomicBool::new(!carried.is_empty());
        (Memory { table: self.table, rest, rest_is_used, carried }, self.restored)
    }
}

/// What is in a block of that kind.
fn body(block: &[u8], kind: Kind) -> Option<&[u8]> {
    block.split_first().filter(|(first, _)| **first == kind as u8).map(|(_, body)| body)
}
