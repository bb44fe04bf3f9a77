//! Windows of the calendar: which day, week, month or year an instant lies in, in which zone, from which day on.
//!
//! It takes an instant and gives bounds; core and stores only compare with them.

use std::sync::RwLock;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan as _};
use tidegate_core::{Bounds, Limit, LimitError, Timestamp, Window};

use crate::notation::Unit;

/// A limit per unit of the calendar.
#[derive(Debug)]
pub struct Calendar {
    amount: u64,
    period: Period,
    share: u32,
    /// The limit with the bounds of the current period: worked out once for each, not once for each check.
    current: RwLock<Limit>,
}

/// A unit of the calendar in a zone, from a day on.
#[derive(Clone, Debug)]
pub struct Period {
    /// The unit.
    pub unit: Unit,
    /// The zone.
    pub zone: TimeZone,
    /// The day of the month, or of the week from Monday on, on which it begins.
    pub from: Option<u8>,
}

impl Calendar {
    /// So many per period.
    pub fn new(amount: u64, period: Period) -> Result<Self, LimitError> {
        let current = RwLock::new(limit(amount, period.bounds(Timestamp::from_micros(0)))?);
        Ok(Self { amount, period, share: 0, current })
    }

    /// The amount per period.
    pub fn amount(&self) -> u64 {
        self.amount
    }

    /// The period.
    pub fn period(&self) -> &Period {
        &self.period
    }

    /// Lets its counters take their memory from that share.
    pub(crate) fn put_in_share(&mut self, share: u32) {
        self.share = share;
        if let Ok(current) = self.current.get_mut() {
            *current = current.in_share(share);
        }
    }

    /// The limit with the bounds that hold at an instant.
    pub fn at(&self, now: Timestamp) -> Limit {
        let current = self.current.read().map_or_else(|poisoned| *poisoned.into_inner(), |limit| *limit);
        if current.covers(now) {
            return current;
        }
        let fresh =
            limit(self.amount, self.period.bounds(now)).map_or(current, |fresh| fresh.in_share(self.share));
        if let Ok(mut current) = self.current.write() {
            *current = fresh;
        }
        fresh
    }
}

fn limit(amount: u64, bounds: Bounds) -> Result<Limit, LimitError> {
    Limit::fixed_window(amount, Window::Calendar(bounds))
}

impl Period {
    /// The period that holds an instant, and the end of the one after it.
    pub fn bounds(&self, now: Timestamp) -> Bounds {
        let instant =
            i64::try_from(now.as_micros()).ok().and_then(|us| jiff::Timestamp::from_microsecond(us).ok());
        let today = instant.unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_zoned(self.zone.clone()).date();
        let first = self.first_day(today);
        // A zone's midnight may lie after the instant on the first day of a period that begins in a gap.
        let first = if self.midnight(first) > now { self.shift(first, -1) } else { first };
        let second = self.shift(first, 1);
        let third = self.shift(first, 2);
        Bounds { start: self.midnight(first), end: self.midnight(second), next_end: self.midnight(third) }
    }

    /// The first day of the period that holds a date.
    fn first_day(&self, today: Date) -> Date {
        match self.unit {
            Unit::Day => today,
            Unit::Week => {
                let first =
                    Weekday::from_monday_one_offset(self.from.map_or(1, |day| day.clamp(1, 7).cast_signed()))
                        .unwrap_or(Weekday::Monday);
                let back = i64::from(today.weekday().since(first));
                today.checked_sub(back.days()).unwrap_or(today)
            }
            Unit::Month => {
                let anchored = self.anchored(today);
                if anchored <= today { anchored } else { self.shift(anchored, -1) }
            }
            Unit::Year => Date::new(today.year(), 1, 1).unwrap_or(today),
        }
    }

    /// The day of a date's month on which a period begins: the last if the month is too short.
    fn anchored(&self, date: Date) -> Date {
        let day = self.from.unwrap_or(1).clamp(1, 31).cast_signed().min(date.days_in_month());
        Date::new(date.year(), date.month(), day).unwrap_or(date)
    }

    fn shift(&self, first: Date, periods: i64) -> Date {
        let span: Span = match self.unit {
            Unit::Day => periods.days(),
            Unit::Week => (7 * periods).days(),
            Unit::Month => periods.months(),
            Unit::Year => periods.years(),
        };
        // From the first of the month, so that no step depends on how short the month before was.
        let base = if self.unit == Unit::Month { first.first_of_month() } else { first };
        let shifted = base.checked_add(span).unwrap_or(base);
        if self.unit == Unit::Month { self.anchored(shifted) } else { shifted }
    }

    fn midnight(&self, date: Date) -> Timestamp {
        let us = date.to_zoned(self.zone.clone()).map_or(0, |zoned| zoned.timestamp().as_microsecond());
        Timestamp::from_micros(u64::try_from(us).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(unit: Unit, zone: &str, from: Option<u8>) -> Period {
        Period { unit, zone: TimeZone::get(zone).unwrap(), from }
    }

    fn at(text: &str) -> Timestamp {
        let us = text.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        Timestamp::from_micros(u64::try_from(us).unwrap())
    }

    #[track_caller]
    fn check(period: &Period, now: &str, start: &str, end: &str) {
        let bounds = period.bounds(at(now));
        assert_eq!((bounds.start, bounds.end), (at(start), at(end)), "{now}");
        assert_eq!(period.bounds(bounds.end).end, bounds.next_end, "the next one follows");
    }

    #[test]
    fn months_begin_on_their_day_or_the_last_one() {
        let month = period(Unit::Month, "UTC", Some(31));
        check(&month, "2026-02-27T12:00:00Z", "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z");
        check(&month, "2026-02-28T00:00:00Z", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z");
        check(
            &period(Unit::Month, "UTC", None),
            "2026-12-31T23:59:59Z",
            "2026-12-01T00:00:00Z",
            "2027-01-01T00:00:00Z",
        );
    }

    #[test]
    fn days_are_as_long_as_their_zone_makes_them() {
        let day = period(Unit::Day, "Europe/Berlin", None);
        check(&day, "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z");
        check(&day, "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z");
    }

    #[test]
    fn a_midnight_that_does_not_exist_is_the_next_instant_that_does() {
        // Beirut turns its clocks forward at midnight.
        let day = period(Unit::Day, "Asia/Beirut", None);
        check(&day, "2026-03-28T21:59:59Z", "2026-03-27T22:00:00Z", "2026-03-28T22:00:00Z");
        check(&day, "2026-03-28T22:00:00Z", "2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z");
    }

    #[test]
    fn weeks_begin_on_their_day_and_years_in_january() {
        check(
            &period(Unit::Week, "UTC", None),
            "2026-11-15T10:00:00Z",
            "2026-11-09T00:00:00Z",
            "2026-11-16T00:00:00Z",
        );
        check(
            &period(Unit::Week, "UTC", Some(7)),
            "2026-11-15T10:00:00Z",
            "2026-11-15T00:00:00Z",
            "2026-11-22T00:00:00Z",
        );
        check(
            &period(Unit::Year, "UTC", None),
            "2026-11-15T10:00:00Z",
            "2026-01-01T00:00:00Z",
            "2027-01-01T00:00:00Z",
        );
    }

    #[test]
    fn a_calendar_limit_moves_on_with_time() {
        let calendar = Calendar::new(10, period(Unit::Month, "UTC", None)).unwrap();
        let (november, december) = (at("2026-11-15T00:00:00Z"), at("2026-12-15T00:00:00Z"));
        assert!(calendar.at(november).covers(november));
        assert!(calendar.at(december).covers(december));
        assert_eq!(calendar.at(november), calendar.at(november));
    }
}
