//! What decisions hold, by their ids: plans whose slots or reservations are given back later. Bounded: when it is full,
//! what would be remembered is left to end by itself.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidegate_core::{Charge, Pay, Plan, Ticket, Timestamp};

const SHARDS: usize = 16;

/// The most plans that are remembered in each part of the table.
const MOST_PER_SHARD: usize = 65_536;

/// A plan that holds something.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) plan: Plan,
    /// How many times the cost of one request it was charged.
    pub(crate) times: u64,
    pub(crate) until: Timestamp,
}

impl Held {
    /// What each charge costs if the request costs so many times that of one.
    pub(crate) fn costs(&self, times: u64) -> Vec<u64> {
        let cost = |charge: Charge<'_>| match charge.pay {
            Pay::IfRefused { .. } => charge.cost,
            _ => charge.cost.checked_div(self.times).unwrap_or(1).saturating_mul(times),
        };
        self.plan.charges().map(cost).collect()
    }
}

#[derive(Debug, Default)]
pub(crate) struct HeldPlans {
    shards: [Mutex<HashMap<u128, Held>>; SHARDS],
}

impl HeldPlans {
    /// Remembers a plan until it ends; `false` if there is no room.
    pub(crate) fn keep(&self, ticket: Ticket, held: Held, now: Timestamp) -> bool {
        let mut shard = self.shard(ticket);
        if shard.len() >= MOST_PER_SHARD || shard.len() == shard.capacity() {
            shard.retain(|_, held| held.until > now);
        }
        if shard.len() >= MOST_PER_SHARD {
            return false;
        }
        shard.insert(ticket.0, held);
        true
    }

    pub(crate) fn get(&self, ticket: Ticket) -> Option<Held> {
        self.shard(ticket).get(&ticket.0).cloned()
    }

    pub(crate) fn renew(&self, ticket: Ticket, until: Timestamp) {
        if let Some(held) = self.shard(ticket).get_mut(&ticket.0) {
            held.until = until;
        }
    }

    pub(crate) fn take(&self, ticket: Ticket) -> Option<Held> {
        self.shard(ticket).remove(&ticket.0)
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    fn shard(&self, ticket: Ticket) -> MutexGuard<'_, HashMap<u128, Held>> {
        lock(&self.shards[usize::from(ticket.0.to_le_bytes()[0]) % SHARDS])
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
