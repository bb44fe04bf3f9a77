//! The ways of a plan whose counters can all be named in one call. Others go [through several](super::across).

use tidegate_core::{Plan, Ticket, Timestamp};
use tidegate_store::{Answer, AtEnd, Hold, Settlement, StoreError, Verdicts};

use super::Redis;
use super::ask::{garbled, uncharged};
use crate::bytes::{put_double, take, take_double};
use crate::call::{Caller, Fault};
use crate::draft::{Draft, Held, Way};
use crate::lean::{self, Lean};
use crate::names::Seat;
use crate::reply::Told;
use crate::value;

impl<C: Caller + 'static> Redis<C> {
    pub(super) async fn decided(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        let seats = self.seats(plan);
        if let Some(answer) = self.decided_leanly(plan, &seats, now).await? {
            return Ok(answer);
        }
        // Apart, so that the common way does not carry its room about.
        Box::pin(self.decided_at_length(plan, &seats, now)).await
    }

    /// Decides a plan that is not a common one.
    async fn decided_at_length(
        &self,
        plan: &Plan,
        seats: &[Seat],
        now: Timestamp,
    ) -> Result<Answer, StoreError> {
        if !self.is_one_call(plan, seats, None) {
            return self.decided_across(plan, seats, now).await;
        }
        let mut draft = Draft::new(plan, seats, |_| true).named(plan, &self.names);
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
        let lean = Lean::new(plan, seats, now_us, slack_ms).filter(|_| self.is_one_call(plan, seats, None));
        let Some((call, keys)) = lean.map(Lean::call) else { return Ok(None) };
        let reply = self.reply(call.for_plan(plan)).await?;
        let Some(before) = lean::before(reply, keys.len()).map_err(|_| garbled())? else { return Ok(None) };
        lean::answer(plan, (seats, &keys), &before, now).ok_or_else(garbled).map(Some)
    }

    pub(super) async fn looked_at(&self, plan: &Plan, now: Timestamp) -> Result<Answer, StoreError> {
        let drafts = self.drafts(plan, &self.seats(plan));
        if drafts.is_empty() {
            return Ok(nothing(plan));
        }
        let replies = self.ask_all(drafts, (Way::Read, now), &[]).await;
        let parts = replies.into_iter().map(|(draft, reply)| Ok((draft, told(&reply?)?)));
        let parts: Vec<(Draft, Told)> = parts.collect::<Result<_, StoreError>>()?;
        let parts: Vec<_> = parts.iter().map(|(draft, told)| (draft.indices.as_slice(), told)).collect();
        Told::joined(plan, &parts).and_then(|told| told.answer(plan)).ok_or_else(garbled)
    }

    pub(super) async fn reserved(
        &self,
        plan: &Plan,
        hold: Hold,
        now: Timestamp,
    ) -> Result<Answer, StoreError> {
        let seats = self.seats(plan);
        let (tag, index) = self.names.index(plan.ticket());
        if !self.is_one_call(plan, &seats, Some(tag)) {
            return self.reserved_across(plan, &seats, hold, now).await;
        }
        let mut draft = Draft::new(plan, &seats, |_| true).named(plan, &self.names);
        draft.record = Some(self.names.record(tag, plan.ticket()));
        draft.index = Some(index);
        let mut rest = reserving(hold, &mut draft);
        let mut held = Held::new(vec![draft], false);
        held.write_to(&mut rest);
        let answer = answer(plan, &self.ask(&mut held.drafts[0], (Way::Reserve, now), &rest).await?)?;
        if answer.allowed() && !answer.replayed {
            self.open.insert(plan.ticket(), held);
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
        let remembered = self.open.get(ticket);
        let known = remembered.as_ref().map(Held::fingerprint);
        let mut outcome = Ok(Settlement::Gone);
        if let Some(held) = remembered {
            outcome = self.settled_as(ticket, held, costs, now).await;
            if !matches!(outcome, Ok(Settlement::Gone) | Err(StoreError::CostCount { .. })) {
                return outcome;
            }
        }
        // Perhaps it was used again, and holds something else by now.
        match self.written(ticket).await? {
            Some(held) if Some(held.fingerprint()) != known => {
                self.settled_as(ticket, held, costs, now).await
            }
            _ => outcome,
        }
    }

    /// Settles a reservation of which it is known what it holds.
    async fn settled_as(
        &self,
        ticket: Ticket,
        mut held: Held,
        costs: Option<&[u64]>,
        now: Timestamp,
    ) -> Result<Settlement, StoreError> {
        if held.apart {
            return self.settled_across(ticket, held, costs, now).await;
        }
        let draft = held.drafts.first_mut().ok_or_else(garbled)?;
        let reply = self.ask(draft, (Way::Settle, now), &settling(costs)).await?;
        if let [b'N', charges, costs] = reply.as_slice() {
            return Err(StoreError::CostCount { charges: usize::from(*charges), costs: usize::from(*costs) });
        }
        self.open.remove(ticket);
        if reply == b"G" { Ok(Settlement::Gone) } else { Ok(Settlement::Settled(told(&reply)?.verdicts())) }
    }

    pub(super) async fn released(&self, plan: &Plan, now: Timestamp) -> Result<u64, StoreError> {
        self.numbers(plan, (Way::Release, now), |_| true).await.map(|units| units.into_iter().sum())
    }

    pub(super) async fn renewed(&self, plan: &Plan, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let ends = self.numbers(plan, (Way::Renew, now), Draft::takes_slots).await?;
        Ok(ends.into_iter().min().filter(|end_us| *end_us > 0).map(Timestamp::from_micros))
    }

    pub(super) async fn refunded(
        &self,
        plan: &Plan,
        charged_at: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut rest = Vec::new();
        put_double(charged_at.as_micros(), &mut rest);
        let drafts = self.drafts(plan, &self.seats(plan));
        let replies = self.ask_all(drafts, (Way::Refund, now), &rest).await;
        replies.into_iter().try_for_each(|(_, reply)| reply.map(|_| ()))
    }

    pub(super) async fn forgotten(&self, plan: &Plan, now: Timestamp) -> Result<usize, StoreError> {
        let counts = self.numbers(plan, (Way::Reset, now), |_| true).await?;
        usize::try_from(counts.into_iter().sum::<u64>()).map_err(|_| garbled())
    }

    /// Goes a way that answers with one number from each home.
    async fn numbers(
        &self,
        plan: &Plan,
        way: (Way, Timestamp),
        counts: impl Fn(&Draft) -> bool,
    ) -> Result<Vec<u64>, StoreError> {
        let mut drafts = self.drafts(plan, &self.seats(plan));
        drafts.retain(counts);
        let number = |reply: Vec<u8>| match reply.split_first() {
            Some((b'A', mut number)) => take_double(&mut number).ok_or_else(garbled),
            _ => Err(garbled()),
        };
        let replies = self.ask_all(drafts, way, &[]).await;
        replies.into_iter().map(|(_, reply)| reply.and_then(number)).collect()
    }

    /// What a ticket holds, as it is written down.
    async fn written(&self, ticket: Ticket) -> Result<Option<Held>, StoreError> {
        let (_, key) = self.names.index(ticket);
        let Some(written) = self.fetch(key.clone()).await? else { return Ok(None) };
        let mut written = written.as_slice();
        let [version, _end @ ..]: [u8; 9] = take(&mut written).ok_or_else(garbled)?;
        if version != value::VERSION {
            return Err(uncharged(Fault::NewerFormat));
        }
        Held::read_from(ticket, &key, &mut written).ok_or_else(garbled).map(Some)
    }

    fn seats(&self, plan: &Plan) -> Vec<Seat> {
        self.names.seats(plan)
    }
}

/// What a reservation is told behind its draft.
pub(super) fn reserving(hold: Hold, draft: &mut Draft) -> Vec<u8> {
    let gives_back = hold.at_end == AtEnd::GiveBack;
    if gives_back {
        draft.lend();
    }
    let mut rest = Vec::new();
    put_double(hold.term_us, &mut rest);
    rest.push(u8::from(gives_back));
    rest
}

/// What settling is told behind its draft: at costs, or at nothing.
pub(super) fn settling(costs: Option<&[u64]>) -> Vec<u8> {
    let count = costs.map_or(0, <[u64]>::len);
    let mut rest = vec![u8::from(costs.is_some()), u8::try_from(count).unwrap_or(u8::MAX)];
    costs.unwrap_or_default().iter().for_each(|cost| put_double(*cost, &mut rest));
    rest
}

/// The answer to a plan without charges.
fn nothing(plan: &Plan) -> Answer {
    Answer::new(plan, Verdicts::new(), |_| false)
}

/// An answer that is not a replay.
pub(super) fn told(reply: &[u8]) -> Result<Told, StoreError> {
    match reply.split_first() {
        Some((b'A', bytes)) => Told::read(bytes).ok_or_else(garbled),
        _ => Err(garbled()),
    }
}

fn answer(plan: &Plan, reply: &[u8]) -> Result<Answer, StoreError> {
    match reply.split_first() {
        Some((b'P', known)) => told(known)?.answer(plan).map(Answer::replay).ok_or_else(garbled),
        Some((b'Q', known)) => told(known).map(|told| Answer::remembered(told.ticket, told.delay_us)),
        _ => told(reply)?.answer(plan).ok_or_else(garbled),
    }
}
