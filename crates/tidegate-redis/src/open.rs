//! Drafts of the reservations that this node made, so that settling one of them takes one trip. Others are looked up.
//!
//! If a ticket was used again since then, by whichever node, what is written down under it has another fingerprint, and is looked up.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use tidegate_core::Ticket;

use crate::draft::{Draft, Held};

/// How many are remembered: of more, the oldest are looked up.
const MOST: usize = 16_384;

/// By ticket, the oldest first to go.
#[derive(Default)]
pub(crate) struct Open(Mutex<Drafts>);

#[derive(Default)]
struct Drafts {
    by_ticket: HashMap<Ticket, Held>,
    order: VecDeque<Ticket>,
}

impl Open {
    pub(crate) fn insert(&self, ticket: Ticket, mut held: Held) {
        held.drafts.iter_mut().for_each(Draft::for_later);
        self.with(|drafts| {
            drafts.order.push_back(ticket);
            drafts.by_ticket.insert(ticket, held);
            while drafts.order.len() > MOST {
                let oldest = drafts.order.pop_front();
                oldest.and_then(|oldest| drafts.by_ticket.remove(&oldest));
            }
        });
    }

    pub(crate) fn remove(&self, ticket: Ticket) -> Option<Held> {
        self.with(|drafts| drafts.by_ticket.remove(&ticket))
    }

    pub(crate) fn get(&self, ticket: Ticket) -> Option<Held> {
        self.with(|drafts| drafts.by_ticket.get(&ticket).cloned())
    }

    fn with<T>(&self, work: impl FnOnce(&mut Drafts) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
