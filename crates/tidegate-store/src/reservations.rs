//! Reservations by ticket and by end.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_core::{Plan, Ticket, Timestamp};

use crate::contract::{AtEnd, StoreError};

/// A plan that was paid and waits for its real costs.
pub(crate) struct Reservation {
    pub(crate) plan: Plan,
    /// Which of its charges were paid, and the instants that they were booked at.
    pub(crate) paid: Vec<(usize, Timestamp)>,
    pub(crate) ends_at: Timestamp,
    pub(crate) at_end: AtEnd,
}

/// All that are open, within a byte cap.
pub(crate) struct Reservations {
    by_ticket: BTreeMap<Ticket, Box<Reservation>>,
    by_end: BTreeSet<(Timestamp, Ticket)>,
    bytes: usize,
    cap_bytes: usize,
}

impl Reservation {
    fn bytes(&self) -> usize {
        bytes_of(&self.plan)
    }
}

impl Reservations {
    pub(crate) fn with_cap(cap_bytes: usize) -> Self {
        Self { by_ticket: BTreeMap::new(), by_end: BTreeSet::new(), bytes: 0, cap_bytes }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_ticket.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the plan may become a reservation. Asked before it is charged.
    pub(crate) fn admit(&self, plan: &Plan) -> Result<(), StoreError> {
        if self.by_ticket.contains_key(&plan.ticket()) {
            return Err(StoreError::TicketTaken);
        }
        if self.bytes + bytes_of(plan) > self.cap_bytes {
            return Err(StoreError::Full);
        }
        Ok(())
    }

    pub(crate) fn insert(&mut self, reservation: Reservation) {
        let ticket = reservation.plan.ticket();
        self.bytes += reservation.bytes();
        self.by_end.insert((reservation.ends_at, ticket));
        self.by_ticket.insert(ticket, Box::new(reservation));
    }

    pub(crate) fn get(&self, ticket: Ticket) -> Option<&Reservation> {
        self.by_ticket.get(&ticket).map(Box::as_ref)
    }

    pub(crate) fn remove(&mut self, ticket: Ticket) -> Option<Reservation> {
        let reservation = self.by_ticket.remove(&ticket)?;
        self.by_end.remove(&(reservation.ends_at, ticket));
        self.bytes -= reservation.bytes();
        Some(*reservation)
    }

    /// The next that has ended.
    pub(crate) fn pop_ended(&mut self, now: Timestamp) -> Option<Reservation> {
        let &(ends_at, ticket) = self.by_end.first()?;
        if ends_at > now { None } else { self.remove(ticket) }
    }

    pub(crate) fn next_end(&self) -> Option<Timestamp> {
        self.by_end.first().map(|(ends_at, _)| *ends_at)
    }
}

/// The plan itself, with its keys and its name, and its places in both maps, whose nodes may be half full.
fn bytes_of(plan: &Plan) -> usize {
    let keys: usize = plan.charges().map(|charge| charge.key.bytes().len()).sum();
    let name = plan.idempotency().map_or(0, |name| size_of_val(name) + name.key.as_ref().bytes().len());
    size_of::<Reservation>() + 2 * keys + name + plan.len() * 128 + 256
}
