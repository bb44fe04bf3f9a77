//! The argument of the general script, taken apart in the way that the script does it.

use tidegate_core::{Charge, Limit, Numbers, Pay, Plan, Ticket, Window};

/// The largest number that scripts are told.
const LAST: u64 = (1 << 53) - 1;

/// What the script is told of a plan.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) ticket: Ticket,
    charges: Vec<ToldCharge>,
}

/// A charge, and the counter that it is on.
#[derive(Clone, Debug)]
struct ToldCharge {
    counter: (u8, u32),
    kind: u8,
    numbers: [u64; 5],
    group: u8,
    pay: u8,
    of: u8,
    cost: u64,
    total: u64,
    payer: u8,
}

impl ToldCharge {
    /// Whether it is that charge as far as one charge goes; amounts are cut at what scripts can tell apart.
    fn is(&self, charge: &Charge<'_>) -> bool {
        let (kind, numbers) = numbers(charge.limit);
        let pay = match charge.pay {
            Pay::IfAdmitted => 0,
            Pay::Always => 1,
            Pay::Never => 2,
            Pay::IfRefused { .. } => 3,
        };
        (self.kind, self.numbers) == (kind, numbers.map(|number| number.min(LAST)))
            && (self.cost, u16::from(self.group), self.pay) == (charge.cost.min(LAST), charge.group, pay)
    }
}

impl Told {
    /// All charges are there, in their order, and those on one key are on one counter.
    pub(super) fn is_all_of(&self, plan: &Plan) {
        assert_eq!((self.ticket, self.charges.len()), (plan.ticket(), plan.len()));
        for (at, charge) in plan.charges().enumerate() {
            let told = &self.charges[at];
            assert!(told.is(&charge), "{told:?} is not {charge:?}");
            let is_twin = |other: &Charge<'_>| other.key == charge.key && other.group == charge.group;
            let total =
                plan.charges().filter(is_twin).fold(0, |sum: u64, twin| sum.saturating_add(twin.cost));
            let first = plan.charges().position(|other| is_twin(&other)).expect("it is one of them");
            assert_eq!((told.total, usize::from(told.payer)), (total.min(LAST), first + 1));
            let of = if let Pay::IfRefused { of } = charge.pay { of } else { 0 };
            assert_eq!(told.of, of);
            for (other_at, other) in plan.charges().enumerate() {
                let is_one = self.charges[other_at].counter == told.counter;
                assert_eq!(is_one, other.key == charge.key, "charges {at} and {other_at} share a counter");
            }
        }
    }

    /// Whatever is there is of the plan.
    pub(super) fn is_part_of(&self, plan: &Plan) {
        for told in &self.charges {
            assert!(plan.charges().any(|charge| told.is(&charge)), "{told:?} is not of the plan");
        }
    }
}

/// Reads all of it; panics where the script would fail.
pub(super) fn read(told: &[u8], keys: usize) -> Told {
    let mut input = Input { bytes: told, keys };
    assert!((1..=9).contains(&input.byte()), "there is no such way");
    let (_now, _slack) = (input.double(), input.double());
    let ticket = Ticket(u128::from_be_bytes(input.take()));
    let _hold: [u8; 16] = input.take();
    let places = input.byte();
    for _ in 0..places {
        assert!((1..=3).contains(&input.byte()), "there is no such form");
        let (key, levels) = (input.byte(), input.byte());
        assert!(key > 0);
        input.is_key(key.checked_add(levels).expect("keys have numbers below 256"));
        let loans = input.byte();
        input.is_key(loans);
    }
    let counters: Vec<_> = (0..input.byte()).map(|_| counter(&mut input, places)).collect();
    let charges: Vec<_> = (0..input.byte()).map(|_| charge(&mut input, &counters)).collect();
    name(&mut input);
    Told { ticket, charges }
}

type Counter = ((u8, u32), u8, [u64; 5]);

fn counter(input: &mut Input<'_>, places: u8) -> Counter {
    let (place, id, kind) = (input.byte(), u32::from_le_bytes(input.take()), input.byte());
    assert!((1..=places).contains(&place) && (1..=5).contains(&kind));
    ((place, id), kind, std::array::from_fn(|_| input.double()))
}

fn charge(input: &mut Input<'_>, counters: &[Counter]) -> ToldCharge {
    let [at, group, pay, of] = input.take();
    let (counter, kind, numbers) = counters[usize::from(at) - 1];
    let (cost, total) = (input.double(), input.double());
    ToldCharge { counter, kind, numbers, group, pay, of, cost, total, payer: input.byte() }
}

/// The name, the record and the index.
fn name(input: &mut Input<'_>) {
    let name = input.byte();
    input.is_key(name);
    let _keep = input.double();
    let _fingerprint: [u8; 8] = input.take();
    assert!(input.byte() <= 1);
    let _asked: [u8; 8] = input.take();
    for _ in 0..2 {
        let key = input.byte();
        input.is_key(key);
    }
}

/// The kind of arithmetic and its numbers, as the script knows them.
pub(super) fn numbers(limit: &Limit) -> (u8, [u64; 5]) {
    match limit.numbers() {
        Numbers::Meter { capacity, rate, shapes } => {
            (1, [capacity, rate.units(), rate.per_us(), shapes.into(), 0])
        }
        Numbers::FixedWindow { amount, window: Window::Aligned(length) } => {
            (2, [amount, 0, micros(length), 0, 0])
        }
        Numbers::FixedWindow { amount, window: Window::FirstHit(length) } => {
            (2, [amount, 1, micros(length), 0, 0])
        }
        Numbers::FixedWindow { amount, window: Window::Calendar(bounds) } => {
            (2, [amount, 2, bounds.start.as_micros(), bounds.end.as_micros(), bounds.next_end.as_micros()])
        }
        Numbers::SlidingWindow { amount, part_us, parts } => (3, [amount, part_us, parts.into(), 0, 0]),
        Numbers::SlidingLog { amount, window_us, share } => (4, [amount, window_us, share, 0, 0]),
        Numbers::Concurrency { slots, term_us } => (5, [slots, term_us, 0, 0, 0]),
    }
}

fn micros(length: std::time::Duration) -> u64 {
    u64::try_from(length.as_micros()).expect("windows are years at most")
}

struct Input<'b> {
    bytes: &'b [u8],
    keys: usize,
}

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.bytes.split_first_chunk().expect("the argument is whole");
        self.bytes = rest;
        *first
    }

    fn byte(&mut self) -> u8 {
        let [byte] = self.take();
        byte
    }

    /// A number that was not changed by being a double.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole, and within bounds"
    )]
    fn double(&mut self) -> u64 {
        let number = f64::from_le_bytes(self.take());
        assert!(number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number), "{number}");
        number as u64
    }

    /// The number of a key, counted from 1; 0 is none.
    fn is_key(&self, number: u8) {
        assert!(usize::from(number) <= self.keys, "there is no key {number}");
    }
}
