//! `CL.THROTTLE` and `THROTTLE`: a key and numbers, answered as redis-cell and throttlecrab do.
//!
//! Both count alike, on the same counters, with what is known here as `gcra`. They differ in what the burst means and in how the
//! answer is written:
//!
//! | | redis-cell | throttlecrab |
//! |---|---|---|
//! | limit | `max_burst + 1` | `max_burst` |
//! | reply | limited, limit, remaining, retry after, reset after | allowed, limit, remaining, reset after, retry after |
//! | retry after if it passed | -1 | 0 |
//! | seconds | rounded up, but for less than a millisecond | rounded up; throttlecrab itself cuts them off, so that whoever is refused for half a second is told 0 |
//!
//! What can never pass, because it asks for more than the limit, is told -1 in both.

use std::time::Duration;

use tidegate_core::{Limit, MAX_AMOUNT, Rate, Verdict};
use tidegate_engine::Throttle;

use super::wrong::Wrong;
use tidegate_wire::resp::Replies;
use tidegate_wire::resp::Words;
use tidegate_wire::resp::number;

/// Whose answer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    RedisCell,
    Throttlecrab,
}

/// A question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'b> {
    pub(super) form: Form,
    pub(super) asked: Throttle<'b>,
}

impl<'b> Question<'b> {
    /// Reads `key max_burst count period [quantity]`, of which there are as many as there should be.
    pub(super) fn read(form: Form, words: &Words<'_, 'b>, known: &mut Known) -> Result<Self, Wrong> {
        let limit = known.limit(form, words)?;
        let cost = words.get(5).map_or(Ok(1), |word| amount("quantity", word, 0))?;
        Ok(Self { form, asked: Throttle { key: words.get(1).unwrap_or_default(), limit, cost } })
    }
}

/// Reads the limit, from the words behind the key.
fn limit(form: Form, words: &Words<'_, '_>) -> Result<Limit, Wrong> {
    let word = |place| words.get(place).unwrap_or_default();
    let burst = amount("max_burst", word(2), u64::from(form == Form::Throttlecrab))?;
    let count = amount("count", word(3), 1)?;
    let period = Duration::from_secs(amount("period", word(4), 1)?);
    let capacity = if form == Form::RedisCell { burst + 1 } else { burst };
    let limit = Rate::new(count, period).and_then(|rate| Limit::gcra(rate, capacity));
    limit.map_err(|error| Wrong::new(error.to_string()))
}

fn amount(name: &str, word: &[u8], least: u64) -> Result<u64, Wrong> {
    let amount = number(word).filter(|amount| (least..MAX_AMOUNT).contains(amount));
    amount.ok_or_else(|| {
        Wrong::new(format!("{name} should be a whole number from {least} to {}", MAX_AMOUNT - 1))
    })
}

/// Writes what came of it.
pub(super) fn answer(form: Form, verdict: &Verdict, replies: &mut Replies) {
    replies.array(5);
    match form {
        Form::RedisCell => {
            replies.integer(i64::from(!verdict.allowed()));
            replies.count(verdict.limit);
            replies.count(verdict.remaining);
            replies.integer(verdict.retry_after_us().map_or(-1, cell_seconds));
            replies.integer(cell_seconds(verdict.reset_after_us));
        }
        Form::Throttlecrab => {
            let retry_after = verdict.retry_after_us().map(whole_seconds);
            replies.integer(i64::from(verdict.allowed()));
            replies.count(verdict.limit);
            replies.count(verdict.remaining);
            replies.integer(whole_seconds(verdict.reset_after_us));
            replies.integer(retry_after.unwrap_or(if verdict.allowed() { 0 } else { -1 }));
        }
    }
}

/// As redis-cell rounds: one more for what is left of a second if that is a millisecond or more.
fn cell_seconds(us: u64) -> i64 {
    let seconds = us / 1_000_000 + u64::from(us % 1_000_000 >= 1_000);
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

/// Rounded up, so that nobody returns too early.
fn whole_seconds(us: u64) -> i64 {
    i64::try_from(us.div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

const PLACES: usize = 8;

/// Three numbers of ten digits, and what stands between them in an array, have room.
const MOST_TEXT: usize = 44;

/// The limits that a connection asked for last, by the bytes they came as. Most clients ask for few: to build one takes 130
/// instructions (callgrind, a loop over `Rate::new` and `Limit::gcra`), and to read its numbers comes on top.
#[derive(Debug, Default)]
pub(super) struct Known {
    places: [Option<Kept>; PLACES],
}

/// One of them.
#[derive(Debug)]
struct Kept {
    form: Form,
    length: usize,
    text: [u8; MOST_TEXT],
    limit: Limit,
}

impl Known {
    fn limit(&mut self, form: Form, words: &Words<'_, '_>) -> Result<Limit, Wrong> {
        // What was kept was three numbers, so the same bytes are the same words.
        let text = words.stretch(2, 4).unwrap_or_default();
        let place = &mut self.places[place(text)];
        if let Some(kept) = place
            && kept.form == form
            && kept.text.get(..kept.length) == Some(text)
        {
            return Ok(kept.limit);
        }
        let limit = limit(form, words)?;
        let mut kept = Kept { form, length: text.len(), text: [0; MOST_TEXT], limit };
        if let Some(room) = kept.text.get_mut(..text.len()) {
            room.copy_from_slice(text);
            *place = Some(kept);
        }
        Ok(limit)
    }
}

/// Where a limit is kept.
fn place(text: &[u8]) -> usize {
    let first = text.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
    let last = text.last_chunk().map_or(0, |last| u64::from_le_bytes(*last));
    let mixed = (first ^ last.rotate_left(20)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    usize::from(mixed.to_be_bytes()[0]) % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_wire::resp::Decoder;

    #[test]
    fn seconds_are_rounded_as_redis_cell_does() {
        for (us, seconds) in [
            (0, 0),
            (999, 0),
            (1_000, 1),
            (999_999, 1),
            (1_000_000, 1),
            (1_000_999, 1),
            (1_001_000, 2),
            (2_000_000, 2),
        ] {
            assert_eq!(cell_seconds(us), seconds, "{us} µs");
        }
        assert_eq!(whole_seconds(1), 1);
        assert_eq!(whole_seconds(1_000_000), 1);
        assert_eq!(whole_seconds(1_000_001), 2);
    }

    /// What that line asks for, with what is known already.
    fn asked(line: &str, known: &mut Known) -> Result<Throttle<'static>, Wrong> {
        let mut decoder = Decoder::default();
        let words = decoder.next(line.as_bytes()).unwrap().expect("a whole line");
        let form = if words.get(0) == Some(b"THROTTLE") { Form::Throttlecrab } else { Form::RedisCell };
        let Throttle { limit, cost, .. } = Question::read(form, &words, known)?.asked;
        Ok(Throttle { key: b"", limit, cost })
    }

    #[test]
    fn what_is_remembered_is_what_was_asked_for() {
        let mut known = Known::default();
        for _ in 0..3 {
            for burst in 1..200_u64 {
                for (period, between) in [(1, " "), (60, "  "), (3_600, "\t"), (60, " 000000000000000000")] {
                    for name in ["THROTTLE", "CL.THROTTLE"] {
                        let count = burst * 7 % 13 + 1;
                        let line = format!("{name} k {burst}{between}{count} {period} 5\r\n");
                        let rate = Rate::new(count, Duration::from_secs(period)).unwrap();
                        let capacity = burst + u64::from(name == "CL.THROTTLE");
                        let asked = asked(&line, &mut known).unwrap();
                        assert_eq!((asked.limit, asked.cost), (Limit::gcra(rate, capacity).unwrap(), 5));
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said_again_and_again() {
        let mut known = Known::default();
        for (line, wrong) in [
            ("THROTTLE k 1 1 0\r\n", "period should be"),
            ("THROTTLE k 0 1 1\r\n", "max_burst should be"),
            ("CL.THROTTLE k 0 1 1 x\r\n", "quantity should be"),
        ] {
            for _ in 0..2 {
                assert!(asked("CL.THROTTLE k 0 1 1\r\n", &mut known).is_ok());
                let error = asked(line, &mut known).unwrap_err();
                let mut replies = Replies::new(tidegate_wire::resp::Protocol::default());
                error.write(&mut replies);
                assert!(String::from_utf8_lossy(&replies.bytes).contains(wrong), "{line}");
            }
        }
    }
}
