//! The contract: what every store and every layer around one offers.

use std::future::Future;
use std::time::Duration;

use smallvec::SmallVec;
use tidegate_core::{Outside, Plan, Ticket, Timestamp, Verdict};

/// What a store is asked to do.
#[derive(Clone, Copy, Debug)]
pub enum Act<'a> {
    /// See [`Store::decide`].
    Decide(&'a Plan),
    /// See [`Store::read`].
    Read(&'a Plan),
    /// See [`Store::reserve`].
    Reserve(&'a Plan, Hold),
    /// See [`Store::commit`].
    Commit(Ticket, &'a [u64]),
    /// See [`Store::cancel`].
    Cancel(Ticket),
    /// See [`Store::release`].
    Release(&'a Plan),
    /// See [`Store::renew`].
    Renew(&'a Plan),
    /// See [`Store::refund`]; the instant is that of the charge.
    Refund(&'a Plan, Timestamp),
    /// See [`Store::raise`].
    Raise(&'a Plan),
    /// See [`Store::reset`].
    Reset(&'a Plan),
}

/// What came of an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// Of a decision, a read or a reservation.
    Answer(Answer),
    /// Of a commit or a cancellation.
    Settlement(Settlement),
    /// Units of slots that were given back.
    Released(u64),
    /// When the first of the slots now ends.
    Renewed(Option<Timestamp>),
    /// Units were given back.
    Refunded,
    /// The counters as they now are.
    Raised(Verdicts),
    /// Counters that were forgotten.
    Reset(usize),
}

impl From<Answer> for Done {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

impl From<Settlement> for Done {
    fn from(settlement: Settlement) -> Self {
        Self::Settlement(settlement)
    }
}

/// Takes what an act gives out of what was done.
macro_rules! done {
    ($store:ident.run($act:expr, $now:ident) => $variant:pat => $value:expr) => {
        async move {
            match $store.run($act, $now).await? {
                $variant => Ok($value),
                _ => Err(StoreError::OtherAct),
            }
        }
    };
}

/// Decides plans, each in one atomic step, and remembers what they hold.
///
/// The way of a check is [`decide`](Store::decide). All others are short ways: they carry the charges that they were
/// given, as a plan, and do not ask again which limits apply.
///
/// What wraps a store is a store: a layer is a generic type that implements [`run`](Store::run) around an inner one, and
/// [`try_decide`](Store::try_decide) where it can decide without waiting. The typed methods are made of these two.
pub trait Store: Send + Sync + 'static {
    /// Does one act.
    fn run(&self, act: Act<'_>, now: Timestamp) -> impl Future<Output = Result<Done, StoreError>> + Send;

    /// [`decide`](Store::decide) where the store can answer without waiting; `None` if it has to be waited for, and then
    /// nothing was charged.
    fn try_decide(&self, plan: &Plan, now: Timestamp) -> Option<Result<Answer, StoreError>> {
        let _ = (plan, now);
        None
    }

    /// Charges every group of the plan that passes: the first if all of its charges pass, and each later one if, in
    /// addition, the first did. A group that does not pass is charged nowhere, except where a charge says that a refusal
    /// [pays](tidegate_core::Pay); that is the same step: a gate is closed before anybody else is decided, and what is
    /// always paid is charged past the limit, as a debt, until twice the limit is used.
    ///
    /// Verdicts tell the counters as the answer leaves them. What a refusal charged is asked once more: a charge that was
    /// refused is told how long it must wait now, and a gate that closed says when it opens. A charge that had room was not
    /// the reason of the refusal and stays allowed.
    fn decide(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<Answer, StoreError>> + Send {
        done!(self.run(Act::Decide(plan), now) => Done::Answer(answer) => answer)
    }

    /// What each charge of the plan would be told now, with nothing charged, however it pays: groups are judged by
    /// themselves, and idempotency keys are not looked up.
    fn read(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<Answer, StoreError>> + Send {
        done!(self.run(Act::Read(plan), now) => Done::Answer(answer) => answer)
    }

    /// Decides, and if the plan passes remembers it under its ticket until it is committed, cancelled, or ends. What it
    /// holds is what was paid on admission; what a refusal has paid, of the plan or of one of its later groups, stays paid.
    fn reserve(
        &self,
        plan: &Plan,
        hold: Hold,
        now: Timestamp,
    ) -> impl Future<Output = Result<Answer, StoreError>> + Send {
        done!(self.run(Act::Reserve(plan, hold), now) => Done::Answer(answer) => answer)
    }

    /// Settles a reservation at what it really cost, one number per charge of its plan: less is given back, more is
    /// charged as a debt past the limit. Numbers of charges that it does not hold say nothing. Slots are given back. Of a window that has passed there is nothing to give back; a
    /// calendar window beyond the bounds that its limit came with takes no debt any more.
    fn commit(
        &self,
        ticket: Ticket,
        costs: &[u64],
        now: Timestamp,
    ) -> impl Future<Output = Result<Settlement, StoreError>> + Send {
        done!(self.run(Act::Commit(ticket, costs), now) => Done::Settlement(settlement) => settlement)
    }

    /// Settles a reservation at nothing: everything is given back, and its idempotency key is free again.
    fn cancel(
        &self,
        ticket: Ticket,
        now: Timestamp,
    ) -> impl Future<Output = Result<Settlement, StoreError>> + Send {
        done!(self.run(Act::Cancel(ticket), now) => Done::Settlement(settlement) => settlement)
    }

    /// Gives back the slots that the plan holds; how many units they were.
    fn release(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<u64, StoreError>> + Send {
        done!(self.run(Act::Release(plan), now) => Done::Released(units) => units)
    }

    /// Lets the slots that the plan holds last another term; charges that never pay hold none. When the first of them now ends; `None` if one of them had
    /// ended before, so that the holder no longer counts everywhere and should stop.
    fn renew(
        &self,
        plan: &Plan,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<Timestamp>, StoreError>> + Send {
        done!(self.run(Act::Renew(plan), now) => Done::Renewed(until) => until)
    }

    /// Gives the costs of an admitted plan back, as far as they still count, to the charges that pay on admission: what
    /// is never paid is not given back, and a gate stays closed. Of a concurrency limit it ends the slots that would end
    /// first, whoever holds them: who holds a ticket [releases](Store::release) it instead.
    fn refund(
        &self,
        plan: &Plan,
        charged_at: Timestamp,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        done!(self.run(Act::Refund(plan, charged_at), now) => Done::Refunded => ())
    }

    /// Brings the counter of each charge to at least so many used units as the charge costs, twice its limit at most, however it
    /// pays: what is missing is charged, and what counts more already stays as it is. Told again, or by several, it changes nothing. Slots are left alone:
    /// they are their holders'. One verdict per charge, on the counters as they now are.
    fn raise(
        &self,
        plan: &Plan,
        now: Timestamp,
    ) -> impl Future<Output = Result<Verdicts, StoreError>> + Send {
        done!(self.run(Act::Raise(plan), now) => Done::Raised(verdicts) => verdicts)
    }

    /// Forgets the counters that the plan names, gates included; how many there were. Reservations stay: what they give back later is
    /// taken from what is there then.
    fn reset(&self, plan: &Plan, now: Timestamp) -> impl Future<Output = Result<usize, StoreError>> + Send {
        done!(self.run(Act::Reset(plan), now) => Done::Reset(count) => count)
    }
}

/// One verdict per charge, in the plan's order; in place for up to four.
pub type Verdicts = SmallVec<[Verdict; 4]>;

/// The store's word on a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// One per charge, in the plan's order.
    pub verdicts: Verdicts,
    /// The ticket that the plan was admitted under: its own, or the first one's if this is a replay.
    pub ticket: Ticket,
    /// Whether the plan's idempotency key was known, so that this is the earlier answer and nothing was charged. Refusals
    /// are not remembered: repeated, they are decided again and pay again. When charges pay does not tell plans apart.
    pub replayed: bool,
    /// Whether it is by the count of this node alone, because the one true count could not be asked.
    pub local: bool,
    /// A bit per charge that was paid.
    paid: u64,
    /// Whether the first group passed.
    allowed: bool,
    /// How long the first group holds the request back.
    delay_us: u64,
}

impl Answer {
    /// An answer to that plan: its verdicts, and which charges were paid.
    pub fn new(plan: &Plan, verdicts: Verdicts, paid: impl Fn(usize) -> bool) -> Self {
        let bits = (0..plan.len()).filter(|index| paid(*index)).fold(0, |bits, index| bits | 1 << index);
        let first = || plan.charges().zip(&verdicts).filter(|(charge, _)| charge.group == 0);
        let allowed = first().all(|(_, verdict)| verdict.allowed());
        let delay_us = first().map(|(_, verdict)| verdict.delay_us()).max().filter(|_| allowed).unwrap_or(0);
        Self { verdicts, ticket: plan.ticket(), replayed: false, local: false, paid: bits, allowed, delay_us }
    }

    /// An answer to a plan of one charge, of its first group, which pays if it is admitted.
    #[inline]
    pub fn to_one(ticket: Ticket, verdict: Verdict) -> Self {
        let mut verdicts = Verdicts::new();
        verdicts.push(verdict);
        Self {
            verdicts,
            ticket,
            replayed: false,
            local: false,
            paid: u64::from(verdict.allowed()),
            allowed: verdict.allowed(),
            delay_us: verdict.delay_us(),
        }
    }

    /// An answer to a plan of one group that was admitted without delay and paid.
    #[inline]
    pub fn to_all(ticket: Ticket, verdicts: Verdicts) -> Self {
        let paid = (1 << verdicts.len()) - 1;
        Self { verdicts, ticket, replayed: false, local: false, paid, allowed: true, delay_us: 0 }
    }

    /// An admission that was remembered, given again to a plan with other charges: its verdicts are not about them.
    pub fn remembered(ticket: Ticket, delay_us: u64) -> Self {
        Self {
            verdicts: Verdicts::new(),
            ticket,
            replayed: true,
            local: false,
            paid: 0,
            allowed: true,
            delay_us,
        }
    }

    /// The same answer given again.
    #[must_use]
    pub fn replay(mut self) -> Self {
        self.replayed = true;
        self
    }

    /// The same answer given again to a plan with other charges: its verdicts are not about them.
    #[must_use]
    pub fn replay_without_verdicts(mut self) -> Self {
        self.verdicts.clear();
        self.paid = 0;
        self.replay()
    }

    /// Whether the first group passed: the one that decides.
    pub fn allowed(&self) -> bool {
        self.allowed
    }

    /// Whether the charge at that place was paid: its whole cost (also a cost of 0) if its group and the first one passed,
    /// at least one unit if one of them was refused. Charges of one group on one key were paid together or not at all.
    pub fn paid(&self, index: usize) -> bool {
        u32::try_from(index)
            .ok()
            .and_then(|index| self.paid.checked_shr(index))
            .is_some_and(|bits| bits & 1 == 1)
    }

    /// How long an admitted request should be held back: the longest delay of its first group.
    pub fn delay_us(&self) -> u64 {
        self.delay_us
    }
}

/// How long a reservation lasts, and what becomes of it then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// From now until it ends by itself.
    pub term_us: u64,
    /// What happens to the units of a reservation that ends unsettled.
    pub at_end: AtEnd,
}

impl Hold {
    /// Lasts so long; if nobody settles it, it stays spent.
    pub fn lasting(term: Duration) -> Self {
        Self { term_us: u64::try_from(term.as_micros()).unwrap_or(u64::MAX), at_end: AtEnd::Keep }
    }

    /// The same, but if nobody settles it, it is given back.
    #[must_use]
    pub const fn then_given_back(mut self) -> Self {
        self.at_end = AtEnd::GiveBack;
        self
    }
}

/// What becomes of a reservation that nobody settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtEnd {
    /// It stays spent: the work was probably done and its commit lost.
    #[default]
    Keep,
    /// It is given back.
    GiveBack,
}

/// What came of settling a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "it is made once and taken apart at once")]
pub enum Settlement {
    /// Done; the counters as they now are, one verdict per charge. A debt is in the verdict.
    Settled(Verdicts),
    /// There is no such reservation: settled before, ended, or never made. Nothing was changed.
    Gone,
}

/// The store could not decide. A refusal is not one of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A calendar limit came with bounds that do not hold the instant: resolve it again.
    #[error(transparent)]
    Recalculate(#[from] Outside),
    /// The same idempotency key came with other charges.
    #[error("the idempotency key was used for a check with other charges; use a new key for each request")]
    IdempotencyConflict,
    /// The same ticket holds a reservation already.
    #[error("the ticket holds a reservation already; use a new ticket for each reservation")]
    TicketTaken,
    /// A commit with a number of costs that is not the plan's number of charges.
    #[error("the reservation has {charges} charges and {costs} costs were given; give one for each")]
    CostCount {
        /// What the reservation has.
        charges: usize,
        /// What was given.
        costs: usize,
    },
    /// A store that did another act than it was asked to.
    #[error("the store did another act than it was asked to")]
    OtherAct,
    /// The caller's deadline came before the answer; the plan may have been charged all the same.
    #[error("the store did not answer before the caller's deadline")]
    Late,
    /// The store panicked; the plan may have been charged all the same.
    #[error("the store panicked; please report it with its log")]
    Panicked,
    /// No room for another reservation.
    #[error("the store holds as many reservations as it may; settle some, or raise its byte cap")]
    Full,
    /// The server that has the counters did not answer.
    #[error("store shard {shard} did not answer: {kind}")]
    Unavailable {
        /// Which one, as metrics name it.
        shard: String,
        /// What went wrong, as metrics name it.
        kind: &'static str,
        /// Whether the plan may have been charged all the same: then it counts as spent and is not tried again.
        maybe_charged: bool,
    },
}
