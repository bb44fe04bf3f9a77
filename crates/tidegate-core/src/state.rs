//! What a store keeps under a key, and the steps over it: one place chooses the algorithm, and no other.

use crate::algorithm::Refund;
use crate::algorithm::concurrency::{Concurrency, SlotsState, Ticket};
use crate::algorithm::fixed_window::WindowState;
use crate::algorithm::meter::MeterState;
use crate::algorithm::sliding_log::LogState;
use crate::algorithm::sliding_window::PartsState;
use crate::limit::{Kind, Limit, Outside};
use crate::time::Timestamp;
use crate::verdict::{Outcome, Retry, Standing, Verdict};

/// A counter: what has been charged, in units, in whatever form its algorithm needs.
///
/// A state belongs to one algorithm and window: see [`Limit::identity`], which belongs into the key that it is kept under.
/// Other *numbers* of the same limit read it as it is, so a raised limit unblocks at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State(pub(crate) Form);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    #[default]
    Empty,
    Meter(MeterState),
    Window(WindowState),
    Parts(PartsState),
    Log(Box<LogState>),
    Slots(Box<SlotsState>),
}

impl State {
    /// Nothing has been charged.
    pub const EMPTY: Self = Self(Form::Empty);

    /// When nothing in it counts any more under the numbers of its last charge. From then on it can be dropped.
    pub fn empty_at(&self) -> Timestamp {
        Timestamp::from_micros(match &self.0 {
            Form::Empty => 0,
            Form::Meter(state) => state.empty_at_us(),
            Form::Window(state) => state.empty_at_us(),
            Form::Parts(state) => state.empty_at_us(),
            Form::Log(state) => state.empty_at_us(),
            Form::Slots(state) => state.empty_at_us(),
        })
    }

    /// The latest instant that something was booked at, or began to count.
    fn stamp(&self) -> Timestamp {
        Timestamp::from_micros(match &self.0 {
            Form::Empty | Form::Meter(_) => 0,
            Form::Window(state) => state.start_us(),
            Form::Parts(state) => state.start_us(),
            Form::Log(state) => state.last_us(),
            Form::Slots(state) => state.stamp_us(),
        })
    }

    /// Whether it may be of a limit with a window of at least that length. A meter does not tell, and may; slots have no
    /// window.
    pub fn may_be_of_window(&self, least_us: u64) -> bool {
        match &self.0 {
            Form::Empty | Form::Slots(_) => false,
            Form::Meter(_) => true,
            Form::Window(state) => state.empty_at_us().saturating_sub(state.start_us()) >= least_us,
            Form::Parts(state) => state.window_us() >= least_us,
            Form::Log(state) => state.empty_at_us().saturating_sub(state.last_us()) >= least_us,
        }
    }

    /// Memory it holds beyond its own size.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Empty | Form::Meter(_) | Form::Window(_) => 0,
            Form::Parts(state) => state.heap_bytes(),
            Form::Log(state) => size_of::<LogState>() + state.heap_bytes(),
            Form::Slots(state) => size_of::<SlotsState>() + state.heap_bytes(),
        }
    }

    /// A room that everybody has left keeps no memory.
    fn drop_empty_slots(&mut self) {
        if matches!(&self.0, Form::Slots(slots) if slots.is_empty()) {
            self.0 = Form::Empty;
        }
    }

    fn meter(&self) -> Option<&MeterState> {
        if let Form::Meter(state) = &self.0 { Some(state) } else { None }
    }

    fn window(&self) -> Option<&WindowState> {
        if let Form::Window(state) = &self.0 { Some(state) } else { None }
    }

    fn parts(&self) -> Option<&PartsState> {
        if let Form::Parts(state) = &self.0 { Some(state) } else { None }
    }

    fn log(&self) -> Option<&LogState> {
        if let Form::Log(state) = &self.0 { Some(state) } else { None }
    }

    fn slots(&self) -> Option<&SlotsState> {
        if let Form::Slots(state) = &self.0 { Some(state) } else { None }
    }

    fn take_parts(&mut self) -> Option<PartsState> {
        match std::mem::take(&mut self.0) {
            Form::Parts(state) => Some(state),
            _ => None,
        }
    }

    fn log_mut(&mut self) -> &mut LogState {
        if !matches!(self.0, Form::Log(_)) {
            self.0 = Form::Log(Box::default());
        }
        match &mut self.0 {
            Form::Log(state) => state,
            _ => unreachable!("it was made a log above"),
        }
    }

    fn slots_mut(&mut self) -> &mut SlotsState {
        if !matches!(self.0, Form::Slots(_)) {
            self.0 = Form::Slots(Box::default());
        }
        match &mut self.0 {
            Form::Slots(state) => state,
            _ => unreachable!("they were made slots above"),
        }
    }
}

impl Limit {
    /// Asks and, if the answer is yes, charges: the whole algorithm in one step. A cost of 0 is a peek.
    pub fn step(&self, state: &mut State, now: Timestamp, cost: u64) -> Result<Verdict, Outside> {
        if !self.covers(now) {
            return Err(Outside);
        }
        if let (Kind::Meter(meter), 1..) = (&self.kind, cost) {
            let (outcome, left, standing) = meter.step(state.meter(), now, cost);
            let next_after_us = match &left {
                Some(left) if outcome == Outcome::Allowed => meter.next_after_us(left, now),
                _ => 0,
            };
            state.0 = left.map_or(std::mem::take(&mut state.0), Form::Meter);
            return Ok(Verdict { next_after_us, ..self.told(standing, now, outcome) });
        }
        let outcome = self.judge(state, now, cost);
        if outcome.allowed() {
            self.charge(state, now, cost, Ticket::default());
        }
        Ok(self.verdict(state, now, outcome))
    }

    /// Whether a charge of `cost` would pass; changes nothing. A cost of 0 always passes: it is a peek. The limit must
    /// [cover](Limit::covers) the instant.
    pub fn judge(&self, state: &State, now: Timestamp, cost: u64) -> Outcome {
        if cost == 0 {
            return Outcome::Allowed;
        }
        match &self.kind {
            Kind::Meter(meter) => meter.judge(state.meter(), now, cost),
            Kind::FixedWindow(window) => window.judge(state.window(), now, cost),
            Kind::SlidingWindow(window) => window.judge(state.parts(), now, cost),
            Kind::SlidingLog(log) => log.judge(state.log(), now, cost),
            Kind::Concurrency(slots) => slots.judge(state.slots(), now, cost),
        }
    }

    /// Charges `cost`, also past the limit: that is a debt, and it is in the next verdict. `ticket` names what a
    /// concurrency limit holds; the others ignore it. A cost of 0, or an instant that the limit does not
    /// [cover](Limit::covers), changes nothing. The instant that it was booked at: a clock that is a little behind the
    /// state's books at the state's, and a [refund](Limit::refund) should name that instant.
    pub fn charge(&self, state: &mut State, now: Timestamp, cost: u64, ticket: Ticket) -> Timestamp {
        if cost == 0 || !self.covers(now) {
            return now;
        }
        match &self.kind {
            Kind::Meter(meter) => state.0 = Form::Meter(meter.charge(state.meter(), now, cost)),
            Kind::FixedWindow(window) => state.0 = Form::Window(window.charge(state.window(), now, cost)),
            Kind::SlidingWindow(window) => {
                let mut parts = state.take_parts();
                window.charge(&mut parts, now, cost);
                state.0 = parts.map_or(Form::Empty, Form::Parts);
            }
            Kind::SlidingLog(log) => log.charge(state.log_mut(), now, cost),
            Kind::Concurrency(slots) => slots.charge(state.slots_mut(), now, cost, ticket),
        }
        now.max(state.stamp())
    }

    /// Gives units back, as far as they still count; never more than was charged in that window, never below empty. Of a
    /// concurrency limit it ends the slots that would end first, whoever holds them: who can name a slot
    /// [releases](Limit::release) it.
    pub fn refund(&self, state: &mut State, now: Timestamp, refund: Refund) {
        if !self.covers(now) {
            return;
        }
        match (&self.kind, &mut state.0) {
            (Kind::Meter(meter), Form::Meter(old)) => {
                state.0 = meter.refund(old, now, refund.units).map_or(Form::Empty, Form::Meter);
            }
            (Kind::FixedWindow(window), Form::Window(old)) => {
                state.0 = window.refund(old, now, refund).map_or(Form::Empty, Form::Window);
            }
            (Kind::SlidingWindow(window), Form::Parts(old)) => window.refund(old, now, refund),
            (Kind::SlidingLog(log), Form::Log(old)) => log.refund(old, now, refund),
            (Kind::Concurrency(_), Form::Slots(old)) => Concurrency::refund(old, now, refund.units),
            _ => {}
        }
        state.drop_empty_slots();
    }

    /// Gives a slot back; how many units it held. 0 if it had ended, or if this is no concurrency limit.
    pub fn release(&self, state: &mut State, now: Timestamp, ticket: Ticket) -> u64 {
        let units = match (&self.kind, &mut state.0) {
            (Kind::Concurrency(_), Form::Slots(old)) => Concurrency::release(old, now, ticket),
            _ => 0,
        };
        state.drop_empty_slots();
        units
    }

    /// Lets a slot last another whole term from now; its new end, or `None` if it has ended.
    pub fn renew(&self, state: &mut State, now: Timestamp, ticket: Ticket) -> Option<Timestamp> {
        match (&self.kind, &mut state.0) {
            (Kind::Concurrency(slots), Form::Slots(old)) => slots.renew(old, now, ticket),
            _ => None,
        }
    }

    /// The verdict on a charge that had this outcome, for the counter as it now is.
    pub fn verdict(&self, state: &State, now: Timestamp, outcome: Outcome) -> Verdict {
        let verdict = self.told(self.standing(state, now), now, outcome);
        if outcome != Outcome::Allowed {
            return verdict;
        }
        match self.judge(state, now, verdict.remaining + 1) {
            Outcome::Refused(Retry::After(us) | Retry::Within(us)) => {
                Verdict { next_after_us: us, ..verdict }
            }
            _ => verdict,
        }
    }

    fn told(&self, standing: Standing, now: Timestamp, outcome: Outcome) -> Verdict {
        let limit = self.capacity();
        Verdict {
            outcome,
            limit,
            remaining: limit.saturating_sub(standing.used),
            debt: standing.used.saturating_sub(limit),
            reset_after_us: standing.reset_at_us.saturating_sub(now.as_micros()),
            next_after_us: 0,
        }
    }

    /// The time until one unit more has drained, from when all of them have. Never later than it is.
    pub(crate) fn drained_after_us(&self, verdict: &Verdict) -> u64 {
        let left = verdict.used().min(verdict.limit).saturating_sub(1);
        match &self.kind {
            Kind::Meter(meter) => {
                let after_us = verdict.reset_after_us.saturating_sub(meter.rate().span_us_of(left));
                after_us.max(verdict.reset_after_us.min(1))
            }
            _ => verdict.reset_after_us,
        }
    }

    fn standing(&self, state: &State, now: Timestamp) -> Standing {
        match &self.kind {
            Kind::Meter(meter) => meter.standing(state.meter(), now),
            Kind::FixedWindow(window) => window.standing(state.window(), now),
            Kind::SlidingWindow(window) => window.standing(state.parts(), now),
            Kind::SlidingLog(log) => log.standing(state.log(), now),
            Kind::Concurrency(_) => Concurrency::standing(state.slots(), now),
        }
    }
}
