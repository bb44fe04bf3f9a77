//! A plan as the general script is told it: the values that it touches, its counters in them, and its charges.
//!
//! A draft is for the charges of one home, or of homes that can be named in one call. It travels with a reservation, so that
//! any node can settle it.

mod held;
mod travel;

use std::time::Duration;

use smallvec::SmallVec;
use tidegate_core::{Charge, Limit, Numbers, Pay, Plan, Ticket, Verdict, Window};

use crate::bytes::{double, put_double};
use crate::call::{Call, Priority};
use crate::names::{Form, Names, Seat};
use crate::scripts;

pub(crate) use held::{Fingerprint, Held};

/// The most values that one value can run over into: 16 entries each.
const MOST_LEVELS: u8 = 15;

/// The most keys of values and loans that a call names; a name, a record and an index come beside them.
const MOST_KEYS: usize = 250;

/// What a call of the general script is for.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    Decide = 1,
    Read = 2,
    Reserve = 3,
    Settle = 4,
    Release = 5,
    Renew = 6,
    Refund = 7,
    Reset = 8,
    Raise = 9,
}

#[derive(Clone)]
pub(crate) struct Draft {
    /// What slots are held under.
    pub(crate) ticket: Ticket,
    /// What everything else is held under.
    pub(crate) hold: Ticket,
    /// How long an answer is waited for, and who gives way first: as its plan says.
    deadline: Option<Duration>,
    priority: Priority,
    /// The places of its charges in the plan.
    pub(crate) indices: Vec<u8>,
    places: Vec<Place>,
    counters: Vec<u8>,
    charges: Vec<u8>,
    name: Option<Name>,
    /// Where what the ticket holds is remembered, and where its draft is.
    pub(crate) record: Option<Vec<u8>>,
    pub(crate) index: Option<Vec<u8>>,
    /// Of the whole that is remembered there.
    fingerprint: Fingerprint,
}

/// A value that the plan touches.
#[derive(Clone)]
struct Place {
    form: Form,
    key: Vec<u8>,
    /// How many further values are looked at.
    levels: u8,
    /// Whether its loans are.
    lends: bool,
}

/// The name that the plan is remembered under.
#[derive(Clone)]
pub(crate) struct Name {
    pub(crate) key: Vec<u8>,
    pub(crate) keep_us: u64,
    pub(crate) fingerprint: [u8; 8],
    pub(crate) asked: Option<u64>,
}

/// What is told before the draft.
pub(crate) struct Preface {
    pub(crate) way: Way,
    /// The instant; the server's own if it is 0.
    pub(crate) now_us: u64,
    /// How much longer than they count values are kept.
    pub(crate) slack_ms: u32,
}

const COUNTER_BYTES: usize = 46;
const CHARGE_BYTES: usize = 21;

impl Draft {
    /// The draft of those charges of a plan, which have these seats.
    pub(crate) fn new(plan: &Plan, seats: &[Seat], mine: impl Fn(usize) -> bool) -> Self {
        let mut draft = Self {
            ticket: plan.ticket(),
            hold: plan.ticket(),
            deadline: plan.patience(),
            priority: Priority::of(plan),
            indices: Vec::with_capacity(plan.len()),
            places: Vec::with_capacity(2),
            counters: Vec::with_capacity(plan.len() * COUNTER_BYTES),
            charges: Vec::with_capacity(plan.len() * CHARGE_BYTES),
            name: None,
            record: None,
            index: None,
            fingerprint: [0; 8],
        };
        let mut known: SmallVec<[(u8, u32); 8]> = SmallVec::new();
        for (index, charge) in plan.charges().enumerate().filter(|(index, _)| mine(*index)) {
            let place = draft.place(&seats[index]);
            let counter = (place, seats[index].id);
            let at = known.iter().position(|other| *other == counter).unwrap_or_else(|| {
                known.push(counter);
                draft.put_counter(counter, charge.limit);
                known.len() - 1
            });
            draft.indices.push(short(index));
            draft.put_charge(place_number(at), charge, &beside(plan, index, &mine));
        }
        draft
    }

    /// The plan is remembered under its name, if it has one.
    pub(crate) fn named(mut self, plan: &Plan, names: &Names) -> Self {
        self.name = Name::of(plan, names);
        self
    }

    /// Whether it has charges that take slots when they are admitted.
    pub(crate) fn takes_slots(&self) -> bool {
        let kind = |charge: &[u8]| self.counters[(usize::from(charge[0]) - 1) * COUNTER_BYTES + 5];
        self.charges.chunks(CHARGE_BYTES).any(|charge| kind(charge) == 5 && charge[2] < 2)
    }

    /// To be settled later, with the client's own patience: nobody gains if that gives way.
    pub(crate) fn for_later(&mut self) {
        (self.deadline, self.priority) = (None, Priority::Strict);
    }

    /// Of numbers for all charges of the plan, those of its own.
    pub(crate) fn of_each(&self, all: &[u64]) -> Vec<u64> {
        self.indices.iter().map(|index| all.get(usize::from(*index)).copied().unwrap_or(0)).collect()
    }

    /// Puts verdicts on its charges where they are in the plan.
    pub(crate) fn put_verdicts(&self, verdicts: &[Verdict], all: &mut [Option<Verdict>]) {
        for (index, verdict) in self.indices.iter().zip(verdicts) {
            if let Some(place) = all.get_mut(usize::from(*index)) {
                *place = Some(*verdict);
            }
        }
    }

    /// Whether it names no key, so that there is nobody to ask.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty() && self.name.is_none() && self.record.is_none()
    }

    /// Looks at the loans of all its values.
    pub(crate) fn lend(&mut self) {
        self.places.iter_mut().for_each(|place| place.lends = true);
    }

    /// Looks at the loans of one of its values, counted from 1; whether that is more than before.
    pub(crate) fn lend_at(&mut self, place: u8) -> bool {
        let has_room = self.has_room();
        self.at(place).is_some_and(|place| has_room && !std::mem::replace(&mut place.lends, true))
    }

    /// Looks further than so many values of one place; whether that can be.
    pub(crate) fn look_beyond(&mut self, place: u8, levels: u8) -> bool {
        let keys = self.keys() + usize::from(levels);
        let fits =
            |place: &&mut Place| levels <= MOST_LEVELS && keys - usize::from(place.levels) <= MOST_KEYS;
        let Some(place) = self.at(place).filter(fits) else { return false };
        place.levels = levels;
        true
    }

    /// The call, with what is told behind the draft.
    pub(crate) fn call(&self, preface: &Preface, rest: &[u8]) -> Call {
        let mut keys = Keys::default();
        let mut told = Vec::with_capacity(128 + self.counters.len() + self.charges.len() + rest.len());
        told.push(preface.way as u8);
        told.extend(double(preface.now_us).to_le_bytes());
        told.extend(f64::from(preface.slack_ms).to_le_bytes());
        told.extend(self.ticket.0.to_be_bytes());
        told.extend(self.hold.0.to_be_bytes());
        told.push(short(self.places.len()));
        for place in &self.places {
            place.write(&mut keys, &mut told);
        }
        put_counted(&self.counters, COUNTER_BYTES, &mut told);
        put_counted(&self.charges, CHARGE_BYTES, &mut told);
        self.write_name(&mut keys, &mut told);
        told.push(keys.add_if(self.record.as_deref()));
        told.push(keys.add_if(self.index.as_deref()));
        told.extend(self.fingerprint);
        told.extend_from_slice(rest);
        let call = Call::new(&scripts::GENERAL, keys.0, SmallVec::from_iter([told]));
        Call { deadline: self.deadline, priority: self.priority, ..call }
    }

    /// Whether one more key can be named.
    fn has_room(&self) -> bool {
        self.keys() < MOST_KEYS
    }

    /// How many keys of values and loans it names.
    fn keys(&self) -> usize {
        let keys = |place: &Place| 1 + usize::from(place.levels) + usize::from(place.lends);
        self.places.iter().map(keys).sum()
    }

    fn at(&mut self, place: u8) -> Option<&mut Place> {
        self.places.get_mut(usize::from(place).checked_sub(1)?)
    }

    /// The number of a seat's value among the plan's, counted from 1.
    fn place(&mut self, seat: &Seat) -> u8 {
        let at = self.places.iter().position(|place| place.key == seat.key.as_slice()).unwrap_or_else(|| {
            self.places.push(Place { form: seat.form, key: seat.key.to_vec(), levels: 0, lends: false });
            self.places.len() - 1
        });
        place_number(at)
    }

    fn put_counter(&mut self, (place, id): (u8, u32), limit: &Limit) {
        let (kind, numbers) = numbers(limit);
        self.counters.push(place);
        self.counters.extend(id.to_le_bytes());
        self.counters.push(kind);
        for number in numbers {
            put_double(number, &mut self.counters);
        }
    }

    fn put_charge(&mut self, counter: u8, charge: Charge<'_>, beside: &Beside) {
        let (pay, of) = match charge.pay {
            Pay::IfAdmitted => (0, 0),
            Pay::Always => (1, 0),
            Pay::Never => (2, 0),
            Pay::IfRefused { .. } => (3, beside.closes),
        };
        let group = u8::try_from(charge.group).expect("a plan has at most 64 groups");
        self.charges.extend([counter, group, pay, of]);
        put_double(charge.cost, &mut self.charges);
        put_double(beside.total, &mut self.charges);
        self.charges.push(beside.payer);
    }

    fn write_name(&self, keys: &mut Keys, told: &mut Vec<u8>) {
        told.push(keys.add_if(self.name.as_ref().map(|name| name.key.as_slice())));
        put_double(self.name.as_ref().map_or(0, |name| name.keep_us), told);
        match &self.name {
            Some(name) => name.write_to(told),
            None => told.extend([0; 17]),
        }
    }
}

impl Name {
    pub(crate) fn of(plan: &Plan, names: &Names) -> Option<Self> {
        plan.idempotency().map(|idempotency| Self {
            key: names.name(idempotency.key.as_ref()).1,
            keep_us: idempotency.keep_us.min(1 << 51),
            fingerprint: names.fingerprint(&written(plan)),
            asked: idempotency.asked,
        })
    }

    /// What tells plans under this name apart, as the scripts compare it.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        out.extend(self.fingerprint);
        out.push(u8::from(self.asked.is_some()));
        out.extend(self.asked.unwrap_or(0).to_be_bytes());
    }
}

impl Place {
    fn write(&self, keys: &mut Keys, told: &mut Vec<u8>) {
        told.extend([self.form as u8, keys.add(&self.key), self.levels]);
        for level in levels(&self.key).take(self.levels.into()) {
            keys.add(&level);
        }
        let loans = self.lends.then(|| [self.key.as_slice(), b"L"].concat());
        told.push(keys.add_if(loans.as_deref()));
    }
}

/// The values that a value runs over into, one after the other.
pub(crate) fn levels(key: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (b'a'..b'a' + MOST_LEVELS).map(move |level| [key, &[b'o', level]].concat())
}

/// Declared keys, by their numbers, counted from 1.
#[derive(Default)]
struct Keys(SmallVec<[Vec<u8>; 2]>);

impl Keys {
    fn add(&mut self, key: &[u8]) -> u8 {
        self.0.push(key.to_vec());
        u8::try_from(self.0.len()).expect("a call names fewer than 256 keys")
    }

    fn add_if(&mut self, key: Option<&[u8]>) -> u8 {
        key.map_or(0, |key| self.add(key))
    }
}

/// What a charge's place among the others comes to.
struct Beside {
    /// What all charges of its group on its counter cost together.
    total: u64,
    /// Which of them pays.
    payer: u8,
    /// How many of those right before it close it, if it is a gate: only those that are in the same draft.
    closes: u8,
}

fn beside(plan: &Plan, index: usize, mine: &impl Fn(usize) -> bool) -> Beside {
    let charge = plan.get(index);
    let is_twin = |other: &Charge<'_>| other.group == charge.group && other.key == charge.key;
    let all = || plan.charges().enumerate().filter(|(other, _)| mine(*other));
    let twins = all().filter(|(_, other)| is_twin(other));
    let total = twins.fold(0_u64, |total, (_, twin)| total.saturating_add(twin.cost));
    let payer = all().position(|(_, other)| is_twin(&other)).expect("it is a twin of itself");
    let of = if let Pay::IfRefused { of } = charge.pay { usize::from(of) } else { 0 };
    let closes = (index - of..index).filter(|before| mine(*before)).count();
    Beside { total, payer: place_number(payer), closes: short(closes) }
}

/// The kind of arithmetic, and its numbers in the order that the scripts know.
fn numbers(limit: &Limit) -> (u8, [u64; 5]) {
    match limit.numbers() {
        Numbers::Meter { capacity, rate, shapes } => {
            (1, [capacity, rate.units(), rate.per_us(), u64::from(shapes), 0])
        }
        Numbers::FixedWindow { amount, window } => {
            let span = |form, length: Duration| {
                let length_us = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
                [amount, form, length_us, 0, 0]
            };
            let numbers = match window {
                Window::Aligned(length) => span(0, length),
                Window::FirstHit(length) => span(1, length),
                Window::Calendar(bounds) => {
                    let [start, end, next_end] =
                        [bounds.start, bounds.end, bounds.next_end].map(tidegate_core::Timestamp::as_micros);
                    [amount, 2, start, end, next_end]
                }
            };
            (2, numbers)
        }
        Numbers::SlidingWindow { amount, part_us, parts } => (3, [amount, part_us, parts.into(), 0, 0]),
        Numbers::SlidingLog { amount, window_us, share } => (4, [amount, window_us, share, 0, 0]),
        Numbers::Concurrency { slots, term_us } => (5, [slots, term_us, 0, 0, 0]),
    }
}

/// What tells plans apart that come under one name: their keys, costs and groups, not their limits' numbers.
fn written(plan: &Plan) -> Vec<u8> {
    let mut bytes = Vec::new();
    for charge in plan.charges() {
        bytes.extend((charge.key.bytes().len() as u64).to_be_bytes());
        bytes.extend_from_slice(charge.key.bytes());
        bytes.extend(charge.cost.to_be_bytes());
        bytes.extend(charge.group.to_be_bytes());
    }
    bytes
}

fn put_counted(items: &[u8], bytes_each: usize, told: &mut Vec<u8>) {
    told.push(short(items.len() / bytes_each));
    told.extend_from_slice(items);
}

/// The number of a place, counted from 1.
fn place_number(at: usize) -> u8 {
    short(at + 1)
}

fn short(count: usize) -> u8 {
    u8::try_from(count).expect("a plan has at most 64 charges")
}
