//! When a rule applies: hours, days of the week, dates, in a zone, and until when at all.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use tidegate_core::Timestamp;

/// Reads an instant such as `2027-01-31T00:00:00Z`, or a date, which begins at midnight in UTC.
pub fn instant(text: &str) -> Option<Timestamp> {
    let instant = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let date = text.parse::<Date>().ok()?;
        Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
    });
    instant.and_then(|instant| u64::try_from(instant.as_microsecond()).ok()).map(Timestamp::from_micros)
}

/// When a rule applies; all that is given must hold.
#[derive(Debug)]
pub struct Schedule {
    hours: Vec<(Time, Time)>,
    days: Vec<Weekday>,
    dates: Vec<(Date, Date)>,
    zone: TimeZone,
    /// The last minute that was looked at, and whether the schedule held: zones and hours change on whole minutes.
    last: AtomicU64,
}

const MINUTE_US: u64 = 60_000_000;
const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

impl Schedule {
    /// A schedule that always holds, in a zone.
    pub fn new(zone: TimeZone) -> Self {
        Self { hours: Vec::new(), days: Vec::new(), dates: Vec::new(), zone, last: AtomicU64::new(u64::MAX) }
    }

    /// Adds hours such as `09:00-17:30`; `22:00-06:00` goes past midnight.
    pub fn hours(&mut self, text: &str) -> Result<(), String> {
        let wrong = || format!("`{text}` are no hours; write them as 09:00-17:30");
        let (from, to) = text.split_once('-').ok_or_else(wrong)?;
        let time = |text: &str| match text.trim() {
            "24:00" => Some(Time::midnight()),
            text => Time::strptime("%H:%M", text).ok(),
        };
        self.hours.push((time(from).ok_or_else(wrong)?, time(to).ok_or_else(wrong)?));
        Ok(())
    }

    /// Adds days such as `mon-fri` or `sat`.
    pub fn days(&mut self, text: &str) -> Result<(), String> {
        let wrong = || format!("`{text}` are no days; write mon, tue, wed, thu, fri, sat, sun or mon-fri");
        let place = |text: &str| {
            let text = text.trim().to_lowercase();
            let prefix = text.get(..3)?;
            DAYS.iter().position(|(name, _)| *name == prefix)
        };
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        let (from, to) = (place(from).ok_or_else(wrong)?, place(to).ok_or_else(wrong)?);
        let count = (to + 7 - from) % 7;
        self.days.extend((0..=count).map(|step| DAYS[(from + step) % 7].1));
        Ok(())
    }

    /// Adds dates such as `2026-12-24` or `2026-12-24..2027-01-02`, both included.
    pub fn dates(&mut self, text: &str) -> Result<(), String> {
        let wrong = || format!("`{text}` is no date; write 2026-12-24 or 2026-12-24..2027-01-02");
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        let date = |text: &str| text.trim().parse::<Date>().map_err(|_| wrong());
        let (from, to) = (date(from)?, date(to)?);
        if from > to {
            return Err(format!("`{text}` ends before it begins"));
        }
        self.dates.push((from, to));
        Ok(())
    }

    /// Whether it holds at an instant.
    pub fn holds(&self, now: Timestamp) -> bool {
        let minute = now.as_micros() / MINUTE_US;
        let last = self.last.load(Relaxed);
        if last >> 1 == minute {
            return last & 1 == 1;
        }
        let holds = self.holds_in_minute(minute);
        self.last.store(minute << 1 | u64::from(holds), Relaxed);
        holds
    }

    fn holds_in_minute(&self, minute: u64) -> bool {
        let seconds = i64::try_from(minute * 60).unwrap_or(i64::MAX);
        let Ok(instant) = jiff::Timestamp::from_second(seconds) else { return false };
        let local = instant.to_zoned(self.zone.clone());
        let (date, time) = (local.date(), local.time());
        (self.hours.is_empty() || self.hours.iter().any(|(from, to)| within(time, *from, *to)))
            && (self.days.is_empty() || self.days.contains(&date.weekday()))
            && (self.dates.is_empty() || self.dates.iter().any(|(from, to)| (*from..=*to).contains(&date)))
    }
}

fn within(time: Time, from: Time, to: Time) -> bool {
    if from < to { (from..to).contains(&time) } else { time >= from || time < to }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::from_micros(
            u64::try_from(text.parse::<jiff::Timestamp>().unwrap().as_microsecond()).unwrap(),
        )
    }

    #[test]
    fn all_that_is_given_must_hold() {
        let mut schedule = Schedule::new(TimeZone::get("Europe/Berlin").unwrap());
        schedule.hours("09:00-17:30").unwrap();
        schedule.days("mon-fri").unwrap();
        for (now, holds) in [
            ("2026-11-16T08:00:00Z", true),
            ("2026-11-16T07:59:59Z", false),
            ("2026-11-16T16:29:59Z", true),
            ("2026-11-16T16:30:00Z", false),
            ("2026-11-15T10:00:00Z", false),
            ("2026-07-13T07:00:00Z", true),
        ] {
            assert_eq!(schedule.holds(at(now)), holds, "{now}");
        }
    }

    #[test]
    fn nights_go_past_midnight_and_weekends_past_sunday() {
        let mut schedule = Schedule::new(TimeZone::UTC);
        schedule.hours("22:00-06:00").unwrap();
        schedule.days("sat-mon").unwrap();
        assert!(schedule.holds(at("2026-11-15T23:00:00Z")));
        assert!(schedule.holds(at("2026-11-16T05:59:00Z")));
        assert!(!schedule.holds(at("2026-11-16T12:00:00Z")));
        assert!(!schedule.holds(at("2026-11-17T23:00:00Z")));
    }

    #[test]
    fn dates_include_their_ends() {
        let mut schedule = Schedule::new(TimeZone::UTC);
        schedule.dates("2026-12-24..2026-12-26").unwrap();
        assert!(schedule.holds(at("2026-12-26T23:59:59Z")));
        assert!(!schedule.holds(at("2026-12-27T00:00:00Z")));
    }

    #[test]
    fn what_cannot_be_read_says_how_to_write_it() {
        let mut schedule = Schedule::new(TimeZone::UTC);
        assert!(schedule.hours("9 to 5").unwrap_err().contains("09:00-17:30"));
        assert!(schedule.days("funday").unwrap_err().contains("mon-fri"));
        assert!(schedule.dates("2026-13-01").unwrap_err().contains("2026-12-24"));
        assert!(schedule.dates("2026-12-26..2026-12-24").unwrap_err().contains("ends before"));
    }
}
