//! Where newcomers are counted that find all their places taken by offenders: in a counter that they share with others.
//!
//! Such a counter has the newcomer's own limit, and each limit has as many of them as there are [`BUCKETS`]. So who floods a
//! full table with new keys gets at most so many times the limit, however many keys there are; who comes in peace is mostly
//! let in; and whoever was held to a limit before stays so. Shared counters stand beside the table, if there is no room for
//! them either.

use smallvec::SmallVec;
use tidegate_core::{Charge, Key, KeyBuf, Plan, Timestamp};

use super::Memory;
use super::eviction::Need;
use super::slot::Hash;
use super::table::{Claim, Table};

/// How many counters the newcomers of one limit share.
pub(super) const BUCKETS: u64 = 1_024;

impl Memory {
    /// Gives places to the plan's counters that have none. If one finds its places taken by offenders only, a plan that is
    /// charged to a shared counter in its stead.
    pub(super) fn seated(&self, plan: &Plan, now: Timestamp) -> Option<Plan> {
        if !self.table.is_tight() || plan.idempotency().is_some() {
            return None;
        }
        let hashes: SmallVec<[Hash; 8]> = plan.charges().map(|charge| self.table.hash(charge.key)).collect();
        let shared: SmallVec<[Option<KeyBuf>; 8]> = plan
            .charges()
            .zip(&hashes)
            .map(|(charge, hash)| self.shared_counter(&charge, *hash, (now, &hashes)))
            .collect();
        if shared.iter().all(Option::is_none) {
            return None;
        }
        with_keys(plan, &shared)
    }

    /// The key of the shared counter of a newcomer that finds no place of its own.
    fn shared_counter(
        &self,
        charge: &Charge<'_>,
        hash: Hash,
        (now, pinned): (Timestamp, &[Hash]),
    ) -> Option<KeyBuf> {
        let entry = self.table.registry.enter(charge.limit)?;
        let mut lookup = self.table.find(hash, Table::likely_width(charge.limit), now);
        if lookup.is_found() || charge.cost == 0 || self.is_in_the_rest(charge.key) {
            return None;
        }
        let share = entry.limit.share();
        let need = Need { share, now, pinned };
        if self.table.claim(&mut lookup, entry, need) != Claim::OnlyOffenders {
            return None;
        }
        let (share, bucket) = (share.to_be_bytes(), (hash.bits() % BUCKETS).to_be_bytes());
        Key { home: &[], own: &[b"\0overflow", &share, &charge.limit.identity(), &bucket] }.encode().ok()
    }
}

/// The same plan with some of its keys replaced.
fn with_keys(plan: &Plan, keys: &[Option<KeyBuf>]) -> Option<Plan> {
    let mut other = Plan::new();
    other.set_ticket(plan.ticket());
    let mut group = 0;
    for (charge, key) in plan.charges().zip(keys) {
        while group < charge.group {
            other.next_group();
            group += 1;
        }
        let key = key.as_ref().map_or(charge.key, KeyBuf::as_ref);
        other.charge_when(key, *charge.limit, charge.cost, charge.pay).ok()?;
    }
    Some(other)
}
