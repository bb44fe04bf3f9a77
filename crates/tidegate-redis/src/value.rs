//! Values as the scripts write them, read as states: to look at a counter without asking anything of it.
//!
//! Every value begins with a version and flags: 128 if further values follow it (and until when), 64 if some of it is lent (when the
//! first loan is due, and the last), and 1 if it is packed and all its entries are small: 22 bytes each. Such a value's other flags are a
//! number n from 1 on if its key lasts at least until the first multiple of 2^(19 + n) us after all of its entries have expired.
//! Whoever does not know of it sets the end of the key with every write, and n to nothing.

use tidegate_core::{State, portable};

use crate::bytes::{take, take_byte, take_whole};
use crate::names::Form;

/// The version of all values: the newest that this node reads and writes. Nodes tell it to each other, so that a later one knows what
/// it may write.
pub const VERSION: u8 = 1;

const OVERFLOWS: u8 = 128;
const LENDS: u8 = 64;

/// What a value begins with.
pub(crate) struct Head {
    /// Whether further values follow it.
    pub(crate) overflows: bool,
}

/// Takes the head of a value.
pub(crate) fn take_head(input: &mut &[u8]) -> Option<Head> {
    let [version, flags] = take(input)?;
    if version != VERSION {
        return None;
    }
    let overflows = flags & OVERFLOWS != 0;
    let more = usize::from(overflows) * 7 + if flags & LENDS == 0 { 0 } else { 14 };
    *input = input.get(more..)?;
    Some(Head { overflows })
}

/// The state of one counter in the rest of a value; empty if it is not there, `None` if the value cannot be read.
pub(crate) fn state(form: Form, id: u32, mut input: &[u8]) -> Option<State> {
    match form {
        Form::Packed => {
            while !input.is_empty() {
                let (its_id, state) = take_entry(&mut input)?;
                if its_id == id {
                    return Some(state);
                }
            }
            Some(State::EMPTY)
        }
        Form::Log => log(&mut input),
        Form::Slots => slots(&mut input),
    }
}

/// Takes an entry of a packed value: its id and its state.
pub(crate) fn take_entry(input: &mut &[u8]) -> Option<(u32, State)> {
    let id = u32::from_le_bytes(take(input)?);
    let state = match take_byte(input)? {
        1 => State::from_meter(fields(input, [3, 7, 2, 5])?),
        2 => State::from_meter(fields(input, [7; 4])?),
        3 => State::from_window(fields(input, [3, 7, 7])?),
        4 => State::from_window(fields(input, [7; 3])?),
        5 => {
            let [newest, start, oldest, part] = fields(input, [3, 7, 3, 4])?;
            parts(start, part, &[newest, oldest])
        }
        6 => {
            let [start, part, count] = fields(input, [7, 7, 1])?;
            let counts: Vec<u64> = (0..count).map(|_| take_whole(input, 7)).collect::<Option<_>>()?;
            parts(start, part, &counts)
        }
        _ => None,
    };
    Some((id, state?))
}

fn parts(start: u64, part: u64, counts: &[u64]) -> Option<State> {
    let newest = counts.iter().position(|count| *count > 0);
    let span = newest.map_or(0, |age| (counts.len() - age) as u64 * part);
    State::from_parts([start, span], counts)
}

fn log(input: &mut &[u8]) -> Option<State> {
    let [forgotten, forgotten_at, window] = fields(input, [7; 3])?;
    let (mut stamps, mut before, mut count) = (Vec::new(), [0, forgotten], 0);
    while !input.is_empty() {
        let [at, total] = fields(input, [7; 2])?;
        stamps.extend([at.checked_sub(before[0])?, total.checked_sub(before[1])?]);
        (before, count) = ([at, total], count + 1);
    }
    if count == 0 {
        return Some(State::EMPTY);
    }
    let head = [forgotten, forgotten_at, before[0] + window, count];
    portable_state(4, &[head.as_slice(), &stamps].concat())
}

fn slots(input: &mut &[u8]) -> Option<State> {
    let stamp = take_whole(input, 7)?;
    let mut bytes = vec![5];
    portable::put(stamp, &mut bytes);
    portable::put((input.len() / 30) as u64, &mut bytes);
    if input.is_empty() {
        return Some(State::EMPTY);
    }
    while !input.is_empty() {
        fields(input, [7; 2])?.into_iter().for_each(|number| portable::put(number, &mut bytes));
        bytes.extend(u128::from_be_bytes(take(input)?).to_le_bytes());
    }
    State::read_from(&mut bytes.as_slice())
}

fn fields<const N: usize>(input: &mut &[u8], sizes: [usize; N]) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    for (number, size) in numbers.iter_mut().zip(sizes) {
        *number = take_whole(input, size)?;
    }
    Some(numbers)
}

fn portable_state(tag: u8, numbers: &[u64]) -> Option<State> {
    let mut bytes = Vec::with_capacity(1 + numbers.len() * 4);
    bytes.push(tag);
    for number in numbers {
        portable::put(*number, &mut bytes);
    }
    State::read_from(&mut bytes.as_slice())
}
