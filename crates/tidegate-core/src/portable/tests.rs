use proptest::prelude::*;

use super::*;
use crate::properties::{START_US, limits, with_asks};
use crate::{Bounds, Refund, Ticket, Timestamp, Window};

fn written(limit: &Limit, state: &State) -> Vec<u8> {
    let mut out = Vec::new();
    limit.write_to(&mut out);
    state.write_to(&mut out);
    out
}

fn read(mut input: &[u8]) -> Option<(Limit, State, usize)> {
    Some((Limit::read_from(&mut input)?, State::read_from(&mut input)?, input.len()))
}

proptest! {
    #[test]
    fn limits_and_all_their_states_are_read_as_they_were_written(
        (limit, asks) in with_asks(limits()),
        refund in 0..5_u64,
        (share, ticket) in any::<(u32, u128)>(),
    ) {
        let limit = limit.in_share(share);
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for (index, ask) in asks.into_iter().enumerate() {
            now = now.plus_us(ask.after_us);
            limit.charge(&mut state, now, ask.cost, Ticket(ticket.rotate_left(u32::try_from(index)?)));
            if index % 7 == 3 {
                limit.refund(&mut state, now, Refund { units: refund, charged_at: now });
            }
            prop_assert_eq!(read(&written(&limit, &state)), Some((limit, state.clone(), 0)));
        }
    }

    #[test]
    fn a_state_tells_the_window_that_it_is_for((limit, asks) in with_asks(limits())) {
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for ask in asks.into_iter().filter(|ask| ask.cost > 0) {
            now = now.plus_us(ask.after_us);
            limit.charge(&mut state, now, ask.cost, Ticket(1));
            let (window_us, is_meter) = (limit.window_us(), matches!(limit.kind, Kind::Meter(_)));
            prop_assert_eq!(state.may_be_of_window(window_us.unwrap_or(0)), window_us.is_some());
            prop_assert_eq!(state.may_be_of_window(window_us.unwrap_or(0) + 1), is_meter);
        }
    }

    #[test]
    fn what_was_cut_short_is_not_read((limit, asks) in with_asks(limits()), cut: prop::sample::Index) {
        let (mut state, now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for ask in asks {
            limit.charge(&mut state, now, ask.cost, Ticket(1));
        }
        let written = written(&limit, &state);
        prop_assert_eq!(read(&written[..cut.index(written.len())]), None);
    }

    /// Whatever is read can be decided with.
    #[test]
    fn rubbish_is_refused_or_harmless(
        (limit, asks) in with_asks(limits()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (mut state, mut now) = (State::EMPTY, Timestamp::from_micros(START_US));
        for ask in &asks {
            limit.charge(&mut state, now, ask.cost, Ticket(1));
        }
        let mut bytes = written(&limit, &state);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let Some((other, mut state, _)) = read(&bytes) else { return Ok(()) };
        for ask in asks {
            now = now.plus_us(ask.after_us);
            for limit in [limit, other].into_iter().filter(|limit| limit.covers(now)) {
                limit.step(&mut state, now, ask.cost).unwrap();
                limit.refund(&mut state, now, Refund { units: 1, charged_at: now });
            }
            state.may_be_of_window(1);
        }
    }

    #[test]
    fn bytes_at_random_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        Limit::read_from(&mut &bytes[..]);
        State::read_from(&mut &bytes[..]);
    }
}

#[test]
fn numbers_are_read_as_they_were_written_and_no_longer_ones() {
    for number in [0, 1, 127, 128, 16_383, 16_384, u64::MAX / 2, u64::MAX] {
        let mut out = Vec::new();
        put(number, &mut out);
        let mut input = &out[..];
        assert_eq!((take(&mut input), input), (Some(number), &[][..]));
        out.pop();
        assert_eq!(take(&mut &out[..]), None, "{number}");
    }
    assert_eq!(take(&mut &[0xff; 9][..]), None);
    assert_eq!(take(&mut &[0xff; 11][..]), None, "too long");
    assert_eq!(take(&mut &[[0xff; 9].as_slice(), &[2]].concat()[..]), None, "too large");
}

#[test]
fn calendars_keep_their_bounds_or_have_none() {
    let at = |us| Timestamp::from_micros(START_US + us);
    let bounds = Bounds { start: at(0), end: at(1_000), next_end: at(2_000) };
    let bound = Limit::fixed_window(5, Window::Calendar(bounds)).unwrap();
    for limit in [bound, bound.without_bounds()] {
        assert_eq!(read(&written(&limit, &State::EMPTY)), Some((limit, State::EMPTY, 0)));
    }
}
