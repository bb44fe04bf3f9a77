//! Names and tickets of plans across several homes: notes with homes of their own.

use smallvec::SmallVec;
use tidegate_core::{Plan, Ticket, Timestamp};
use tidegate_store::{Answer, Hold, StoreError};

use super::Redis;
use super::across::CROSSING_US;
use super::ask::{garbled, uncharged};
use super::ways::told;
use crate::bytes::{double, put_double};
use crate::call::{Call, Caller, Fault};
use crate::draft::{Held, Name};
use crate::reply::Told;
use crate::scripts;

#[derive(Clone, Copy)]
enum Note {
    Claim = 1,
    Write = 2,
    Drop = 3,
}

/// What comes before what is noted: the version and the end.
const HEAD_BYTES: usize = 1 + 8;

/// What comes before a plan's answer: the fingerprint, whether something was asked, and what.
const NAME_BYTES: usize = 8 + 1 + 8;

impl<C: Caller + 'static> Redis<C> {
    /// Takes the plan's name, if it has one, until it is decided; the answer of an earlier admission, if there was one.
    pub(super) async fn claim_name(
        &self,
        plan: &Plan,
        name: Option<&Name>,
        now: Timestamp,
    ) -> Result<Option<Answer>, StoreError> {
        let Some(name) = name else { return Ok(None) };
        let mut mine = Vec::new();
        name.write_to(&mut mine);
        let note = self.note(&name.key, (Note::Claim, CROSSING_US), &mine, now).await?;
        note.map(|note| known(plan, &mine, &note)).transpose()
    }

    /// Remembers an admission under the plan's name, or frees the name. What cannot be remembered is free again soon.
    pub(super) async fn settle_name(&self, name: Option<Name>, admitted: Option<&Told>, now: Timestamp) {
        let Some(name) = name else { return };
        let mut note = Vec::new();
        name.write_to(&mut note);
        let how = if let Some(told) = admitted {
            told.write_to(&mut note);
            (Note::Write, name.keep_us)
        } else {
            (Note::Drop, 0)
        };
        drop(self.note(&name.key, how, &note, now).await);
    }

    /// Writes down what the ticket is about to hold.
    pub(super) async fn claim_ticket(
        &self,
        ticket: Ticket,
        held: &Held,
        hold: Hold,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut note = Vec::new();
        held.write_to(&mut note);
        match self.note(&self.names.index(ticket).1, (Note::Claim, hold.term_us), &note, now).await? {
            None => Ok(()),
            Some(_) => Err(StoreError::TicketTaken),
        }
    }

    /// The ticket holds nothing any more. If that cannot be said, the note ends by itself.
    pub(super) async fn drop_ticket(&self, ticket: Ticket, now: Timestamp) {
        drop(self.note(&self.names.index(ticket).1, (Note::Drop, 0), &[], now).await);
    }

    /// Writes or drops a note; the one that is there, if that is in the way.
    async fn note(
        &self,
        key: &[u8],
        (note, term_us): (Note, u64),
        body: &[u8],
        now: Timestamp,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let (now_us, slack_ms) = self.time(now);
        let mut told = vec![note as u8];
        put_double(now_us, &mut told);
        told.extend(double(slack_ms.into()).to_le_bytes());
        put_double(term_us, &mut told);
        told.extend_from_slice(body);
        let (keys, arguments) = (SmallVec::from_iter([key.to_vec()]), SmallVec::from_iter([told]));
        let reply = self.call(Call::new(&scripts::NOTE, keys, arguments)).await?.ok_or_else(garbled)?;
        match reply.split_first() {
            Some((b'A', _)) => Ok(None),
            Some((b'T', note)) => Ok(Some(note.get(HEAD_BYTES..).ok_or_else(garbled)?.to_vec())),
            Some((b'V', _)) => Err(uncharged(Fault::NewerFormat)),
            _ => Err(garbled()),
        }
    }
}

/// The answer that is noted under a name that this plan has too.
fn known(plan: &Plan, mine: &[u8], note: &[u8]) -> Result<Answer, StoreError> {
    let (head, answer) = note.split_at_checked(NAME_BYTES).ok_or_else(garbled)?;
    let is_same_plan = head[..8] == mine[..8];
    let is_same_question = head[8] == 1 && head[8..] == mine[8..];
    if !is_same_plan && !is_same_question {
        return Err(StoreError::IdempotencyConflict);
    }
    if answer.is_empty() {
        return Err(uncharged(Fault::InProgress));
    }
    let told = told(answer)?;
    if is_same_plan {
        told.answer(plan).map(Answer::replay).ok_or_else(garbled)
    } else {
        Ok(Answer::remembered(told.ticket, told.delay_us))
    }
}
