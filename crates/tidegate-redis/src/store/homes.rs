//! Which charges of a plan can be named in one call.

use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use tidegate_core::{Plan, Ticket, Timestamp};
use tidegate_store::StoreError;

use super::Redis;
use crate::call::Caller;
use crate::draft::{Draft, Way};
use crate::names::{Seat, Tag};

impl<C: Caller + 'static> Redis<C> {
    /// Whether all counters of the plan, its name and one more tag can be named in one call.
    pub(super) fn is_one_call(&self, plan: &Plan, seats: &[Seat], beside: Option<Tag>) -> bool {
        let name = plan.idempotency().map(|idempotency| self.names.name(idempotency.key.as_ref()).0);
        let mut tags = seats.iter().map(|seat| seat.tag).chain(name).chain(beside);
        tags.next().is_none_or(|first| tags.all(|tag| self.meets(first, tag)))
    }

    /// A draft for each call that the plan's charges take.
    pub(super) fn drafts(&self, plan: &Plan, seats: &[Seat]) -> Vec<Draft> {
        let mut homes: Vec<Tag> = Vec::with_capacity(1);
        let mut home_of = |seat: &Seat| {
            let known = homes.iter().position(|home| self.meets(*home, seat.tag));
            known.unwrap_or_else(|| {
                homes.push(seat.tag);
                homes.len() - 1
            })
        };
        let of: Vec<usize> = seats.iter().map(&mut home_of).collect();
        (0..homes.len()).map(|home| Draft::new(plan, seats, |index| of[index] == home)).collect()
    }

    /// Asks all at once, each with the same behind its draft.
    pub(super) async fn ask_all(
        &self,
        drafts: Vec<Draft>,
        way: (Way, Timestamp),
        rest: &[u8],
    ) -> Vec<(Draft, Result<Vec<u8>, StoreError>)> {
        self.ask_each(drafts, way, |_| rest.to_vec()).await
    }

    /// Asks all at once, each with its own behind its draft.
    pub(super) async fn ask_each(
        &self,
        drafts: Vec<Draft>,
        way: (Way, Timestamp),
        rest: impl Fn(&Draft) -> Vec<u8>,
    ) -> Vec<(Draft, Result<Vec<u8>, StoreError>)> {
        let ask = |mut draft: Draft| {
            let rest = rest(&draft);
            async move {
                let reply = self.ask(&mut draft, way, &rest).await;
                (draft, reply)
            }
        };
        join_all(drafts.into_iter().map(ask)).await
    }

    /// An id that nobody else has.
    pub(super) fn new_hold(&self) -> Ticket {
        let number = self.holds.fetch_add(1, Ordering::Relaxed);
        Ticket(u128::from(self.node) << 64 | u128::from(number))
    }

    fn meets(&self, one: Tag, other: Tag) -> bool {
        one == other || self.caller.are_neighbours(&one, &other)
    }
}
