//! The arguments of the lean script, one for each value: whole numbers as MessagePack has them.

use tidegate_core::{Limit, Numbers, Pay, Plan, Window};
use tidegate_redis::Call;

/// What it is told of a charge: its kind and its numbers, its cost first.
type Entry = (u64, [u64; 4]);

/// All charges of the plan are there, each once, value by value and by ids that go up.
pub(super) fn reads_as_meant(call: &Call, plan: &Plan) {
    assert_eq!(call.arguments.len(), call.keys.len(), "one argument for each value");
    let mut told: Vec<Entry> = Vec::new();
    for (at, argument) in call.arguments.iter().enumerate() {
        let mut input = argument.as_slice();
        let (_now, _slack, more, count) =
            (number(&mut input), number(&mut input), number(&mut input), number(&mut input));
        assert_eq!(more == 1, at + 1 < call.arguments.len(), "whether more follow");
        let mut before = None;
        for _ in 0..count {
            let head = number(&mut input);
            let (kind, id) = (head >> 32, head & 0xffff_ffff);
            assert!(before.replace(id) < Some(id), "ids go up");
            told.push((kind, std::array::from_fn(|_| number(&mut input))));
        }
        assert!(input.is_empty(), "something is left over");
    }
    let mut meant: Vec<Entry> = plan.charges().map(|charge| entry(charge.limit, charge.cost)).collect();
    assert!(plan.charges().all(|charge| charge.group == 0 && charge.pay == Pay::IfAdmitted));
    told.sort_unstable();
    meant.sort_unstable();
    assert_eq!(told, meant);
}

fn entry(limit: &Limit, cost: u64) -> Entry {
    match limit.numbers() {
        Numbers::Meter { capacity, rate, .. } => (1, [cost, capacity, rate.units(), rate.per_us()]),
        Numbers::FixedWindow { amount, window: Window::Aligned(length) } => {
            (3, [cost, amount, 0, micros(length)])
        }
        Numbers::FixedWindow { amount, window: Window::FirstHit(length) } => {
            (3, [cost, amount, 1, micros(length)])
        }
        Numbers::SlidingWindow { amount, part_us, parts: 1 } => (5, [cost, amount, 0, part_us]),
        other => panic!("{other:?} is not for the lean script"),
    }
}

fn micros(length: std::time::Duration) -> u64 {
    u64::try_from(length.as_micros()).expect("windows are years at most")
}

fn number(input: &mut &[u8]) -> u64 {
    let first = taken(input, 1);
    match first {
        0..0x80 => first,
        0xcd => taken(input, 2),
        0xce => taken(input, 4),
        0xcf => taken(input, 8),
        _ => panic!("{first} is no whole number"),
    }
}

fn taken(input: &mut &[u8], bytes: usize) -> u64 {
    let (first, rest) = input.split_at(bytes);
    *input = rest;
    first.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
