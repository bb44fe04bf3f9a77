//! Which counter is dropped for a new one, when there is no room for more.
//!
//! The rivals of a new counter are those in the lines where it could stand: about sixteen, chosen by a keyed hash, and so a
//! fair sample of the whole table. A share that holds less of them than its part loses none: what floods through one rule
//! drops what came through that rule. Among the others it is the counter that has used the least of its limit, and then the
//! first to empty. If even that one has nearly used up its limit, it is an offender who would be let free, and stays.

use std::sync::atomic::Ordering;

use smallvec::SmallVec;
use tidegate_core::{Limit, Outcome, State, Timestamp};

use super::lookup::SlotLookup;
use super::registry::{Registered, Registry};
use super::slot::{Content, Hash, Slot};

/// Who has used so many thousandths of a limit is not dropped for somebody new.
const OFFENDER: u64 = 800;

/// What a new counter needs room for.
#[derive(Clone, Copy)]
pub(super) struct Need<'a> {
    /// The share that it belongs to.
    pub(super) share: u32,
    pub(super) now: Timestamp,
    /// Counters that stay.
    pub(super) pinned: &'a [Hash],
}

/// Whether there is room now.
pub(super) enum Room {
    /// There may be: look again.
    Made,
    /// There is not, and nothing can be done.
    None,
    /// Only by letting an offender free.
    OnlyOffenders,
}

struct Rival<'a> {
    slot: Slot<'a>,
    content: Content,
    entry: &'a Registered,
}

/// Drops the rival that matters least.
pub(super) fn make_room(registry: &Registry, lookup: &SlotLookup<'_>, need: Need<'_>) -> Room {
    let rivals: SmallVec<[Rival<'_>; 16]> = lookup
        .segment
        .rivals(lookup.hash)
        .filter_map(|slot| {
            let content = slot.look(|| true)?;
            Some(Rival { slot, content, entry: registry.get(content.number())? })
        })
        .collect();
    let part = part_of_each(&rivals, need.share);
    let held_by = |share: u32| rivals.iter().filter(|rival| rival.entry.limit.share() == share).count();
    let weighed = rivals
        .iter()
        .filter(|rival| !need.pinned.contains(&rival.content.hash()))
        .filter(|rival| held_by(rival.entry.limit.share()) >= part)
        .map(|rival| (rival.weight(need.now), rival));
    let Some(((used, empty_at), least)) = weighed.min_by_key(|(weight, _)| *weight) else {
        return Room::None;
    };
    if used >= OFFENDER {
        return Room::OnlyOffenders;
    }
    if least.slot.lock_as(least.content) {
        if lookup.segment.is_current() {
            lookup.segment.remove(least.slot);
            least.entry.evicted.fetch_add(u64::from(empty_at > need.now.as_micros()), Ordering::Relaxed);
        } else {
            least.slot.unlock();
        }
    }
    Room::Made
}

/// How many rivals each share would have if they were divided evenly, the new one's among them.
fn part_of_each(rivals: &[Rival<'_>], newcomer: u32) -> usize {
    let mut shares: SmallVec<[u32; 17]> = rivals.iter().map(|rival| rival.entry.limit.share()).collect();
    shares.push(newcomer);
    shares.sort_unstable();
    shares.dedup();
    rivals.len() / shares.len()
}

impl Rival<'_> {
    /// How much it has used of its limit, and when that will have passed.
    fn weight(&self, now: Timestamp) -> (u64, u64) {
        let state = self.entry.state(self.content, now);
        (fullness(&self.entry.limit, &state, now), state.empty_at().as_micros())
    }
}

/// How much of its limit a counter has used, in thousandths.
fn fullness(limit: &Limit, state: &State, now: Timestamp) -> u64 {
    let verdict = limit.verdict(state, now, Outcome::Allowed);
    let used = verdict.limit - verdict.remaining.min(verdict.limit);
    used.saturating_mul(1_000) / verdict.limit.max(1)
}
