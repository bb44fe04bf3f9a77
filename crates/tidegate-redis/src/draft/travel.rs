//! A draft as it is written down beside its reservation.

use tidegate_core::Ticket;

use super::{CHARGE_BYTES, COUNTER_BYTES, Draft, Held, Name, Place, short};
use crate::bytes::{put_short, take, take_byte, take_short};
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
        Some(Self {
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
        })
    }
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
