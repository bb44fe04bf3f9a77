//! What decisions hold, by their ids: plans whose slots or reservations are given back later. Bounded: when it is full,
//! what would be remembered is left to end by itself.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidegate_core::{Plan, Ticket, Timestamp};

use crate::reserved::Reserved;

const SHARDS: usize = 16;

/// The most plans that are remembered in each part of the table: 65 536 in all, at most about 100 MB if keys are long.
const MOST_PER_SHARD: usize = 4_096;

/// What has ended is looked for this often at most.
const SWEEP_EVERY_US: u64 = 1_000_000;

/// A plan that holds something.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) plan: Plan,
    /// How the costs of a reservation came about; `None` if the plan holds slots.
    pub(crate) reserved: Option<Reserved>,
    pub(crate) until: Timestamp,
}

/// What is held: each is given back in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Slots,
    Reservation,
}

impl Held {
    fn what(&self) -> What {
        if self.reserved.is_some() { What::Reservation } else { What::Slots }
    }
}

#[derive(Debug, Default)]
pub(crate) struct HeldPlans {
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    plans: HashMap<u128, Held>,
    swept: Timestamp,
}

impl HeldPlans {
    /// Remembers a plan until it ends; `false` if there is no room.
    pub(crate) fn keep(&self, ticket: Ticket, held: Held, now: Timestamp) -> bool {
        let mut shard = self.shard(ticket);
        let is_full = shard.plans.len() >= MOST_PER_SHARD || shard.plans.len() == shard.plans.capacity();
        if is_full && now.since(shard.swept) >= SWEEP_EVERY_US {
            shard.swept = now;
            shard.plans.retain(|_, held| held.until > now);
        }
        if shard.plans.len() >= MOST_PER_SHARD {
            return false;
        }
        shard.plans.insert(ticket.0, held);
        true
    }

    pub(crate) fn get(&self, ticket: Ticket, what: What) -> Option<Held> {
        self.look(ticket, what, Held::clone)
    }

    /// Looks at what is held under a ticket, if it is of that kind.
    pub(crate) fn look<T>(&self, ticket: Ticket, what: What, look: impl FnOnce(&Held) -> T) -> Option<T> {
        self.shard(ticket).plans.get(&ticket.0).filter(|held| held.what() == what).map(look)
    }

    pub(crate) fn renew(&self, ticket: Ticket, until: Timestamp) {
        if let Some(held) = self.shard(ticket).plans.get_mut(&ticket.0) {
            held.until = until;
        }
    }

    /// Takes what is held under a ticket, if it is of that kind.
    pub(crate) fn take(&self, ticket: Ticket, what: What) -> Option<Held> {
        let mut shard = self.shard(ticket);
        shard.plans.get(&ticket.0).filter(|held| held.what() == what)?;
        shard.plans.remove(&ticket.0)
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).plans.len()).sum()
    }

    fn shard(&self, ticket: Ticket) -> MutexGuard<'_, Shard> {
        lock(&self.shards[usize::from(ticket.0.to_le_bytes()[0]) % SHARDS])
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
