//! A draft as it is written down beside its reservation.

use tidegate_core::Ticket;

use super::{CHARGE_BYTES, COUNTER_BYTES, Draft, Held, MOST_KEYS, MOST_LEVELS, Name, Place, short};
use crate::bytes::{put_short, take, take_byte, take_double, take_short};
use crate::call::Priority;
use crate::names::Form;

impl Held {
    /// Writes it behind what is there.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        out.extend([u8::from(self.apart), short(self.drafts.len())]);
        self.drafts.iter().for_each(|draft| draft.write_to(out));
    }

    /// Reads what was written under that key for a ticket.
    pub(crate) fn read_from(ticket: Ticket, key: &[u8], input: &mut &[u8]) -> Option<Self> {
        let [apart, count] = take(input)?;
        let apart = apart == 1;
        let draft = |_| {
            let mut draft = Draft::read_from(ticket, input)?;
            draft.index = (!apart).then(|| key.to_vec());
            Some(draft)
        };
        Some(Self::new((0..count).map(draft).collect::<Option<_>>()?, apart))
    }
}

impl Draft {
    /// Writes it behind what is there.
    fn write_to(&self, out: &mut Vec<u8>) {
        out.extend(self.ticket.0.to_be_bytes());
        put_short(&self.indices, out);
        out.push(short(self.places.len()));
        for place in &self.places {
            out.extend([place.form as u8, place.levels, u8::from(place.lends)]);
            put_short(&place.key, out);
        }
        for (items, bytes_each) in [(&self.counters, COUNTER_BYTES), (&self.charges, CHARGE_BYTES)] {
            out.push(short(items.len() / bytes_each));
            out.extend_from_slice(items);
        }
        for key in [self.record.as_deref(), self.name.as_ref().map(|name| name.key.as_slice())] {
            put_short(key.unwrap_or_default(), out);
        }
    }

    /// Takes one from the beginning of what is there. Of its name it knows no more than is needed to forget it.
    fn read_from(hold: Ticket, input: &mut &[u8]) -> Option<Self> {
        let ticket = Ticket(u128::from_be_bytes(take(input)?));
        let indices = take_short(input)?.to_vec();
        let count = take_byte(input)?;
        let places = (0..count).map(|_| read_place(input)).collect::<Option<_>>()?;
        let counters = read_items(COUNTER_BYTES, input)?;
        let charges = read_items(CHARGE_BYTES, input)?;
        let mut key = || take_short(input).map(<[u8]>::to_vec);
        let (record, name) = (key()?, key()?);
        let name = Some(name).filter(|key| !key.is_empty()).map(|key| Name {
            key,
            keep_us: 0,
            fingerprint: [0; 8],
            asked: None,
        });
        let record = Some(record).filter(|key| !key.is_empty());
        let (deadline, priority) = (None, Priority::Strict);
        let draft = Self {
            ticket,
            hold,
            deadline,
            priority,
            indices,
            places,
            counters,
            charges,
            name,
            record,
            index: None,
            fingerprint: [0; 8],
        };
        draft.is_sound().then_some(draft)
    }

    /// Whether its parts fit together, so that a script can be told it.
    fn is_sound(&self) -> bool {
        let counters = self.counters.len() / COUNTER_BYTES;
        let charges = self.charges.len() / CHARGE_BYTES;
        // Whatever is held is recorded; without that there may be no key at all, and nobody to ask.
        self.record.is_some()
            && self.indices.len() == charges
            && self.keys() <= MOST_KEYS
            && self.places.iter().all(|place| place.levels <= MOST_LEVELS)
            && self.counters.chunks(COUNTER_BYTES).all(|counter| is_counter(counter, self.places.len()))
            && self.charges.chunks(CHARGE_BYTES).all(|charge| is_charge(charge, counters, charges))
    }
}

/// In one of so many places, of a kind that there is, with numbers.
fn is_counter(counter: &[u8], places: usize) -> bool {
    let ([place, _, _, _, _, kind], numbers) = counter.split_first_chunk().unwrap_or((&[0; 6], &[]));
    (1..=places).contains(&usize::from(*place)) && (1..=5).contains(kind) && are_numbers(numbers)
}

/// On one of so many counters, paid by one of so many charges.
fn is_charge(charge: &[u8], counters: usize, charges: usize) -> bool {
    let ([counter, _, _, _], rest) = charge.split_first_chunk().unwrap_or((&[0; 4], &[]));
    let (payer, numbers) = rest.split_last().unwrap_or((&0, &[]));
    (1..=counters).contains(&usize::from(*counter))
        && (1..=charges).contains(&usize::from(*payer))
        && are_numbers(numbers)
}

fn are_numbers(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() && take_double(&mut bytes).is_some() {}
    bytes.is_empty()
}

fn read_place(input: &mut &[u8]) -> Option<Place> {
    let [form, levels, lends] = take(input)?;
    let form = match form {
        1 => Form::Packed,
        2 => Form::Log,
        3 => Form::Slots,
        _ => return None,
    };
    Some(Place { form, key: take_short(input)?.to_vec(), levels, lends: lends == 1 })
}

fn read_items(bytes_each: usize, input: &mut &[u8]) -> Option<Vec<u8>> {
    let count = usize::from(take_byte(input)?);
    let (items, rest) = input.split_at_checked(count * bytes_each)?;
    *input = rest;
    Some(items.to_vec())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidegate_core::{Key, Limit, Plan};

    use super::*;
    use crate::draft::{Preface, Way};
    use crate::names::Names;

    /// What a reservation on two counters writes down.
    fn written() -> Vec<u8> {
        let limit = Limit::sliding_window(5, Duration::from_secs(60)).unwrap();
        let mut plan = Plan::new();
        for own in [b"a", b"b"] {
            plan.charge(Key { home: &[b"acme"], own: &[own] }, limit, 1).unwrap();
        }
        let names = Names::new("t:", [7; 16]);
        let mut draft = Draft::new(&plan, &names.seats(&plan), |_| true);
        draft.record = Some(names.record(names.tag(b"acme"), plan.ticket()));
        let mut written = Vec::new();
        Held { drafts: vec![draft], apart: false }.write_to(&mut written);
        written
    }

    fn read(mut written: &[u8]) -> Option<Held> {
        Held::read_from(Ticket(1), b"key", &mut written)
    }

    #[test]
    fn what_is_written_is_read() {
        let (written, mut again) = (written(), Vec::new());
        read(&written).unwrap().write_to(&mut again);
        assert_eq!(written, again);
    }

    #[test]
    fn whatever_is_read_can_be_told() {
        let preface = Preface { way: Way::Settle, now_us: 0, slack_ms: 0 };
        for place in 0..written().len() {
            for byte in [0, 1, 16, 127, 255] {
                let mut changed = written();
                changed[place] = byte;
                for draft in read(&changed).iter().flat_map(|held| &held.drafts) {
                    assert!(!draft.call(&preface, &[]).keys.is_empty());
                    assert!(draft.places.iter().all(|place| place.levels <= MOST_LEVELS));
                }
            }
        }
    }

    #[test]
    fn a_draft_that_looks_further_than_values_run_over_is_none() {
        let mut changed = written();
        let place = 2 + 16 + 1 + 2 + 1;
        assert_eq!(changed[place..place + 3], [1, 0, 0]);
        changed[place + 1] = MOST_LEVELS + 1;
        assert!(read(&changed).is_none());
    }
}
