//! The ways of a plan.

use tidegate_core::{Plan, Ticket, Timestamp};
use tidegate_store::{Answer, AtEnd, Hold, Settlement, StoreError};

use super::Redis;
use super::ask::garbled;
use crate::bytes::{put_double, take, take_double};
use crate::call::Caller;
use crate::draft::{Draft, Way};
use crate::lean::{self, Lean};
use crate::names::Seat;
use crate::reply::Told;

impl<C: Caller> Redis<C> {
    pub(super) async fn decided(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        let seats = self.seats(plan);
        if let Some(answer) = self.decided_leanly(plan, &seats, now).await? {
            return Ok(answer);
        }
        let mut draft = Draft::new(plan, &seats, |_| true).named(plan, &self.names);
        if draft.is_empty() {
            return Ok(nothing(plan));
        }
        answer(plan, &self.ask(&mut draft, (Way::Decide, now), &[]).await?)
    }

    /// Decides a common plan; `None` if it is not one, or if its value is not.
    async fn decided_leanly(
        &self,
        plan: &Plan,
        seats: &[Seat],
        now: Timestamp,
    ) -> Result<Option<Answer>, StoreError> {
        let (now_us, slack_ms) = self.time(now);
        let Some(lean) = Lean::new(plan, seats, now_us, slack_ms) else { return Ok(None) };
        let reply = self.reply(lean.call(seats)).await?;
        let Some(before) = lean::before(reply).map_err(|_| garbled())? else { return Ok(None) };
        lean::answer(plan, seats, &before, now).ok_or_else(garbled).map(Some)
    }

    pub(super) async fn looked_at(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        let mut draft = self.draft(plan);
        if draft.is_empty() {
            return Ok(nothing(plan));
        }
        answer(plan, &self.ask(&mut draft, (Way::Read, now), &[]).await?)
    }

    pub(super) async fn reserved(
        &self,
        plan: &Plan,
        hold: Hold,
        now: Timestamp,
    ) -> Result<Answer, StoreError> {
        let mut draft = self.draft(plan).named(plan, &self.names);
        let (tag, index) = self.names.index(plan.ticket());
        draft.record = Some(self.names.record(tag, plan.ticket()));
        draft.index = Some(index);
        let gives_back = hold.at_end == AtEnd::GiveBack;
        if gives_back {
            draft.lend();
        }
        let mut rest = Vec::new();
        put_double(hold.term_us, &mut rest);
        rest.push(u8::from(gives_back));
        draft.write_to(&mut rest);
        let answer = answer(plan, &self.ask(&mut draft, (Way::Reserve, now), &rest).await?)?;
        if answer.allowed() && !answer.replayed {
            self.open.insert(draft);
        }
        Ok(answer)
    }

    /// Settles at these costs, or at nothing.
    pub(super) async fn settled(
        &self,
        ticket: Ticket,
        costs: Option<&[u64]>,
        now: Timestamp,
    ) -> Result<Settlement, StoreError> {
        let Some(mut draft) = self.reservation(ticket).await? else { return Ok(Settlement::Gone) };
        let count = costs.map_or(0, <[u64]>::len);
        let mut rest = vec![u8::from(costs.is_some()), u8::try_from(count).unwrap_or(u8::MAX)];
        for cost in costs.unwrap_or_default() {
            put_double(*cost, &mut rest);
        }
        let reply = self.ask(&mut draft, (Way::Settle, now), &rest).await?;
        if let [b'N', charges, _] = reply.as_slice() {
            return Err(StoreError::CostCount { charges: usize::from(*charges), costs: count });
        }
        self.open.remove(ticket);
        match reply.split_first() {
            Some((b'G', _)) => Ok(Settlement::Gone),
            Some((b'A', told)) => {
                let told = Told::read(told).ok_or_else(garbled)?;
                Ok(Settlement::Settled(told.verdicts()))
            }
            _ => Err(garbled()),
        }
    }

    pub(super) async fn released(&self, plan: &Plan, now: Timestamp) -> Result<u64, StoreError> {
        self.number(plan, (Way::Release, now)).await
    }

    pub(super) async fn renewed(&self, plan: &Plan, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let end_us = self.number(plan, (Way::Renew, now)).await?;
        Ok((end_us > 0).then_some(Timestamp::from_micros(end_us)))
    }

    pub(super) async fn refunded(
        &self,
        plan: &Plan,
        charged_at: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut draft = self.draft(plan);
        if draft.is_empty() {
            return Ok(());
        }
        let mut rest = Vec::new();
        put_double(charged_at.as_micros(), &mut rest);
        self.ask(&mut draft, (Way::Refund, now), &rest).await.map(|_| ())
    }

    pub(super) async fn forgotten(&self, plan: &Plan, now: Timestamp) -> Result<usize, StoreError> {
        let number = self.number(plan, (Way::Reset, now)).await?;
        usize::try_from(number).map_err(|_| garbled())
    }

    /// Goes a way that answers with one number.
    async fn number(&self, plan: &Plan, way: (Way, Timestamp)) -> Result<u64, StoreError> {
        let mut draft = self.draft(plan);
        if draft.is_empty() {
            return Ok(0);
        }
        let reply = self.ask(&mut draft, way, &[]).await?;
        let Some((b'A', mut number)) = reply.split_first() else { return Err(garbled()) };
        take_double(&mut number).ok_or_else(garbled)
    }

    /// What a ticket holds: as this node remembers it, or as it is written down.
    async fn reservation(&self, ticket: Ticket) -> Result<Option<Draft>, StoreError> {
        if let Some(draft) = self.open.get(ticket) {
            return Ok(Some(draft));
        }
        let (_, key) = self.names.index(ticket);
        let Some(written) = self.fetch(key.clone()).await? else { return Ok(None) };
        let mut written = written.as_slice();
        let _end: [u8; 8] = take(&mut written).ok_or_else(garbled)?;
        let mut draft = Draft::read_from(ticket, &mut written).ok_or_else(garbled)?;
        draft.index = Some(key);
        Ok(Some(draft))
    }

    fn draft(&self, plan: &Plan) -> Draft {
        Draft::new(plan, &self.seats(plan), |_| true)
    }

    fn seats(&self, plan: &Plan) -> Vec<Seat> {
        plan.charges().map(|charge| self.names.seat(charge.key, charge.limit)).collect()
    }
}

/// The answer to a plan without charges.
fn nothing(plan: &Plan) -> Answer {
    Answer::new(plan, tidegate_store::Verdicts::new(), |_| false)
}

fn answer(plan: &Plan, reply: &[u8]) -> Result<Answer, StoreError> {
    let told = |bytes| Told::read(bytes).ok_or_else(garbled);
    match reply.split_first() {
        Some((b'A', bytes)) => told(bytes)?.answer(plan).ok_or_else(garbled),
        Some((b'P', [b'A', bytes @ ..])) => {
            told(bytes)?.answer(plan).map(Answer::replay).ok_or_else(garbled)
        }
        Some((b'Q', [b'A', bytes @ ..])) => {
            let told = told(bytes)?;
            Ok(Answer::remembered(told.ticket, told.delay_us))
        }
        _ => Err(garbled()),
    }
}
