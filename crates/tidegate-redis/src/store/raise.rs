//! Raising counters to what somebody remembers of them, for a server that has lost its own.

use tidegate_core::{Plan, Timestamp};
use tidegate_store::{StoreError, Verdicts};

use super::Redis;
use super::ask::garbled;
use super::ways::told;
use crate::call::Caller;
use crate::draft::{Draft, Way};
use crate::reply::Told;

impl<C: Caller + 'static> Redis<C> {
    /// The script charges what is missing in the step that reads it: a call that may have run can be made again.
    pub(super) async fn raised(&self, plan: &Plan, now: Timestamp) -> Result<Verdicts, StoreError> {
        let drafts = self.drafts(plan, &self.names.seats(plan));
        let replies = self.ask_all(drafts, (Way::Raise, now), &[]).await;
        let parts = replies.into_iter().map(|(draft, reply)| Ok((draft, told(&reply?)?)));
        let parts: Vec<(Draft, Told)> = parts.collect::<Result<_, StoreError>>()?;
        let parts: Vec<_> = parts.iter().map(|(draft, told)| (draft.indices.as_slice(), told)).collect();
        Told::joined(plan, &parts).map(|told| told.verdicts()).ok_or_else(garbled)
    }
}
