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

use tidegate_core::{Limit, LimitError, MAX_AMOUNT, Rate, Verdict};
use tidegate_engine::Throttle;

use super::decode::Words;
use super::reply::Replies;
use super::words::number;
use super::wrong::Wrong;

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
        let word = |place| words.get(place).unwrap_or_default();
        let burst = amount("max_burst", word(2), u64::from(form == Form::Throttlecrab))?;
        let count = amount("count", word(3), 1)?;
        let period_s = amount("period", word(4), 1)?;
        let cost = words.get(5).map_or(Ok(1), |word| amount("quantity", word, 0))?;
        let capacity = if form == Form::RedisCell { burst + 1 } else { burst };
        let limit = known.limit(Numbers { capacity, count, period_s })?;
        Ok(Self { form, asked: Throttle { key: word(1), limit, cost } })
    }
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

/// The numbers of a limit as they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    capacity: u64,
    count: u64,
    period_s: u64,
}

impl Numbers {
    fn limit(self) -> Result<Limit, LimitError> {
        Limit::gcra(Rate::new(self.count, Duration::from_secs(self.period_s))?, self.capacity)
    }

    /// Where it is remembered.
    fn place(self) -> usize {
        let mixed = self.capacity ^ self.count.rotate_left(24) ^ self.period_s.rotate_left(48);
        usize::from(mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()[0]) % PLACES
    }
}

const PLACES: usize = 8;

/// The limits that a connection asked for last: most ask for few, again and again, and making one is work.
#[derive(Debug, Default)]
pub(super) struct Known {
    places: [Option<(Numbers, Limit)>; PLACES],
}

impl Known {
    fn limit(&mut self, numbers: Numbers) -> Result<Limit, Wrong> {
        let place = &mut self.places[numbers.place()];
        match place {
            Some((known, limit)) if *known == numbers => Ok(*limit),
            _ => {
                let limit = numbers.limit().map_err(|error| Wrong::new(error.to_string()))?;
                *place = Some((numbers, limit));
                Ok(limit)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn what_is_remembered_is_what_was_asked_for() {
        let mut known = Known::default();
        for round in 0..3 {
            for capacity in 1..200 {
                for period_s in [1, 60, 3600] {
                    let numbers = Numbers { capacity, count: capacity * 7 % 13 + 1, period_s };
                    assert_eq!(known.limit(numbers).unwrap(), numbers.limit().unwrap(), "{round}");
                }
            }
        }
    }
}
