//! A plan as the general script is told it: the values that it touches, its counters in them, and its charges.
//!
//! A draft is for the charges of one home, or of homes that can be named in one call. It travels with a reservation, so that
//! any node can settle it.

mod travel;

use smallvec::SmallVec;
use tidegate_core::{Charge, Limit, Numbers, Pay, Plan, Ticket, Window};

use crate::bytes::{double, put_double};
use crate::call::Call;
use crate::names::{Form, Names, Seat};
use crate::scripts;

/// The most values that one value can run over into: 16 entries each.
const MOST_LEVELS: u8 = 15;

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
}

#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) ticket: Ticket,
    places: Vec<Place>,
    counters: Vec<u8>,
    charges: Vec<u8>,
    name: Option<Name>,
    /// Where what the ticket holds is remembered, and where its draft is.
    pub(crate) record: Option<Vec<u8>>,
    pub(crate) index: Option<Vec<u8>>,
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
struct Name {
    key: Vec<u8>,
    keep_us: u64,
    fingerprint: [u8; 8],
    asked: Option<u64>,
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
            places: Vec::with_capacity(2),
            counters: Vec::with_capacity(plan.len() * COUNTER_BYTES),
            charges: Vec::with_capacity(plan.len() * CHARGE_BYTES),
            name: None,
            record: None,
            index: None,
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
            draft.put_charge(place_number(at), charge, twins(plan, index, &mine));
        }
        draft
    }

    /// The plan is remembered under its name, if it has one.
    pub(crate) fn named(mut self, plan: &Plan, names: &Names) -> Self {
        self.name = plan.idempotency().map(|idempotency| Name {
            key: names.name(idempotency.key.as_ref()).1,
            keep_us: idempotency.keep_us,
            fingerprint: names.fingerprint(&written(plan)),
            asked: idempotency.asked,
        });
        self
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
        self.at(place).is_some_and(|place| !std::mem::replace(&mut place.lends, true))
    }

    /// Looks further than so many values of one place; whether that can be.
    pub(crate) fn look_beyond(&mut self, place: u8, levels: u8) -> bool {
        let Some(place) = self.at(place).filter(|_| levels <= MOST_LEVELS) else { return false };
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
        told.push(short(self.places.len()));
        for place in &self.places {
            place.write(&mut keys, &mut told);
        }
        put_counted(&self.counters, COUNTER_BYTES, &mut told);
        put_counted(&self.charges, CHARGE_BYTES, &mut told);
        self.write_name(&mut keys, &mut told);
        told.push(keys.add_if(self.record.as_deref()));
        told.push(keys.add_if(self.index.as_deref()));
        told.extend_from_slice(rest);
        Call::new(&scripts::GENERAL, keys.0, SmallVec::from_iter([told]))
    }

    fn at(&mut self, place: u8) -> Option<&mut Place> {
        self.places.get_mut(usize::from(place).checked_sub(1)?)
    }

    /// The number of a seat's value among the plan's, counted from 1.
    fn place(&mut self, seat: &Seat) -> u8 {
        let at = self.places.iter().position(|place| place.key == seat.key).unwrap_or_else(|| {
            self.places.push(Place { form: seat.form, key: seat.key.clone(), levels: 0, lends: false });
            self.places.len() - 1
        });
        place_number(at)
    }

    fn put_counter(&mut self, (place, id): (u8, u32), limit: &Limit) {
        let (kind, numbers) = numbers(limit);
        self.counters.push(place);
        self.counters.extend(id.to_le_bytes());
        self.counters.push(kind);
        numbers.into_iter().for_each(|number| put_double(number, &mut self.counters));
    }

    fn put_charge(&mut self, counter: u8, charge: Charge<'_>, twins: Twins) {
        let (pay, of) = match charge.pay {
            Pay::IfAdmitted => (0, 0),
            Pay::Always => (1, 0),
            Pay::Never => (2, 0),
            Pay::IfRefused { of } => (3, of),
        };
        let group = u8::try_from(charge.group).expect("a plan has at most 64 groups");
        self.charges.extend([counter, group, pay, of]);
        put_double(charge.cost, &mut self.charges);
        put_double(twins.total, &mut self.charges);
        self.charges.push(twins.payer);
    }

    fn write_name(&self, keys: &mut Keys, told: &mut Vec<u8>) {
        told.push(keys.add_if(self.name.as_ref().map(|name| name.key.as_slice())));
        let name = self.name.as_ref();
        put_double(name.map_or(0, |name| name.keep_us.min(1 << 51)), told);
        told.extend(name.map_or([0; 8], |name| name.fingerprint));
        told.push(u8::from(name.is_some_and(|name| name.asked.is_some())));
        told.extend(name.and_then(|name| name.asked).unwrap_or(0).to_be_bytes());
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

/// What all charges of one group on one counter cost together, and which of them pays.
struct Twins {
    total: u64,
    payer: u8,
}

fn twins(plan: &Plan, index: usize, mine: &impl Fn(usize) -> bool) -> Twins {
    let charge = plan.get(index);
    let is_twin = |other: &Charge<'_>| other.group == charge.group && other.key == charge.key;
    let all = || plan.charges().enumerate().filter(|(other, _)| mine(*other));
    let total = all()
        .filter(|(_, other)| is_twin(other))
        .fold(0_u64, |total, (_, twin)| total.saturating_add(twin.cost));
    let payer = all().position(|(_, other)| is_twin(&other)).expect("it is a twin of itself");
    Twins { total, payer: place_number(payer) }
}

/// The kind of arithmetic, and its numbers in the order that the scripts know.
fn numbers(limit: &Limit) -> (u8, [u64; 5]) {
    match limit.numbers() {
        Numbers::Meter { capacity, rate, shapes } => {
            (1, [capacity, rate.units(), rate.per_us(), u64::from(shapes), 0])
        }
        Numbers::FixedWindow { amount, window } => {
            let span = |form, length: std::time::Duration| {
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
