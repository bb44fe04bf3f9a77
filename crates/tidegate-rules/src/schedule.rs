//! When a rule applies: hours, days of the week, dates, in a zone, and until when at all.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{ToSpan as _, Zoned};
use tidegate_core::Timestamp;

/// A text that names no instant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct InstantError {
    /// What is wrong.
    pub message: String,
    /// What to write.
    pub help: String,
}

/// Reads an instant such as `2027-01-31T00:00:00Z` or `2027-01-31T00:00:00+01:00`, or a date, which begins at midnight in UTC.
///
/// A time of day without a zone is an error: it could mean any of two dozen instants.
pub fn instant(text: &str) -> Result<Timestamp, InstantError> {
    let text = text.trim();
    let zoned = || text.parse::<Zoned>().ok().map(|zoned| zoned.timestamp());
    let date = || {
        let date = Date::strptime("%Y-%m-%d", text).ok()?;
        Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let instant = text.parse::<jiff::Timestamp>().ok().or_else(zoned).or_else(date);
    let instant = instant.and_then(|instant| u64::try_from(instant.as_microsecond()).ok());
    instant.map(Timestamp::from_micros).ok_or_else(|| no_instant(text))
}

fn no_instant(text: &str) -> InstantError {
    match text.parse::<DateTime>() {
        Ok(local) => InstantError {
            message: format!("`{text}` has no time zone"),
            help: format!("write {local}Z for UTC, or the offset, such as {local}+01:00"),
        },
        Err(_) => InstantError {
            message: format!("`{text}` is no instant"),
            help: "write 2027-01-31T00:00:00Z, or a date".to_owned(),
        },
    }
}

/// When a rule applies; all that is given must hold.
///
/// Hours that go past midnight belong to the day on which they begin: `22:00-06:00` on `mon-fri` ends on Saturday at 06:00.
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
        let begun = |(from, to): &(Time, Time)| begun_on(date, time, (*from, *to));
        if self.hours.is_empty() {
            return self.begins_on(date);
        }
        self.hours.iter().filter_map(begun).any(|date| self.begins_on(date))
    }

    /// Whether hours of that day, or the day itself, belong to the schedule.
    fn begins_on(&self, date: Date) -> bool {
        (self.days.is_empty() || self.days.contains(&date.weekday()))
            && (self.dates.is_empty() || self.dates.iter().any(|(from, to)| (*from..=*to).contains(&date)))
    }

    /// The next instant at which it begins to hold, in its own zone, such as `2026-11-20T22:00:00+01:00`.
    pub fn next_start(&self, now: Timestamp) -> Option<String> {
        let now = jiff::Timestamp::from_microsecond(i64::try_from(now.as_micros()).ok()?).ok()?;
        let today = now.to_zoned(self.zone.clone()).date();
        let starts = self.days_from(today).into_iter().flat_map(|date| self.starts_on(date));
        let next = starts.filter(|start| start.timestamp() > now).min_by_key(Zoned::timestamp)?;
        let is_utc = next.offset().is_zero();
        Some(next.strftime(if is_utc { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%:z" }).to_string())
    }

    /// Whether it never holds again.
    pub fn is_over(&self, now: Timestamp) -> bool {
        !self.dates.is_empty() && !self.holds(now) && self.next_start(now).is_none()
    }

    /// The first days of the schedule from a day on: as many as a week has, of each stretch of dates.
    fn days_from(&self, today: Date) -> Vec<Date> {
        let always = [(today, Date::MAX)];
        let stretches = if self.dates.is_empty() { &always[..] } else { &self.dates };
        let days = stretches.iter().flat_map(|(from, to)| {
            let first = (*from).max(today);
            let days = first.series(1.day()).take(8).take_while(move |date| date <= to);
            days.filter(|date| self.begins_on(*date))
        });
        days.collect()
    }

    fn starts_on(&self, date: Date) -> Vec<Zoned> {
        let midnight = [(Time::midnight(), Time::midnight())];
        let hours = if self.hours.is_empty() { &midnight[..] } else { &self.hours };
        let starts = hours.iter().map(|(from, _)| date.to_datetime(*from).to_zoned(self.zone.clone()));
        starts.filter_map(Result::ok).collect()
    }
}

/// The day on which the hours began that hold a time; `None` if they do not.
fn begun_on(date: Date, time: Time, (from, to): (Time, Time)) -> Option<Date> {
    if from < to {
        return (from..to).contains(&time).then_some(date);
    }
    if time >= from {
        return Some(date);
    }
    if time < to { date.yesterday().ok() } else { None }
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
    fn nights_belong_to_the_day_they_begin() {
        let mut schedule = Schedule::new(TimeZone::UTC);
        schedule.hours("22:00-06:00").unwrap();
        schedule.days("mon-fri").unwrap();
        for (now, holds) in [
            ("2026-11-20T22:00:00Z", true),
            ("2026-11-21T02:00:00Z", true),
            ("2026-11-21T06:00:00Z", false),
            ("2026-11-21T23:00:00Z", false),
            ("2026-11-23T02:00:00Z", false),
            ("2026-11-23T22:00:00Z", true),
        ] {
            assert_eq!(schedule.holds(at(now)), holds, "{now}");
        }
        let mut dated = Schedule::new(TimeZone::UTC);
        dated.hours("22:00-06:00").unwrap();
        dated.dates("2026-12-24").unwrap();
        assert!(dated.holds(at("2026-12-25T05:00:00Z")) && !dated.holds(at("2026-12-24T05:00:00Z")));
    }

    #[test]
    fn says_when_it_begins_next() {
        let next = |hours: &str, days: &str, dates: &str, now: &str| {
            let mut schedule = Schedule::new(TimeZone::get("Europe/Berlin").unwrap());
            for (text, add) in [
                (hours, Schedule::hours as fn(&mut Schedule, &str) -> _),
                (days, Schedule::days),
                (dates, Schedule::dates),
            ] {
                if !text.is_empty() {
                    add(&mut schedule, text).unwrap();
                }
            }
            let next = schedule.next_start(at(now));
            assert_eq!(schedule.is_over(at(now)), next.is_none());
            next
        };
        let night = |now| next("22:00-06:00", "mon-fri", "", now).unwrap();
        assert_eq!(night("2026-11-20T12:00:00Z"), "2026-11-20T22:00:00+01:00");
        assert_eq!(night("2026-11-21T12:00:00Z"), "2026-11-23T22:00:00+01:00");
        assert_eq!(next("", "sun", "", "2026-11-16T12:00:00Z").unwrap(), "2026-11-22T00:00:00+01:00");
        let dated = |now| next("08:00-09:00", "", "2027-07-01..2027-07-02", now);
        assert_eq!(dated("2026-11-16T12:00:00Z").unwrap(), "2027-07-01T08:00:00+02:00");
        assert_eq!(dated("2027-07-02T12:00:00Z"), None);
    }

    #[test]
    fn refuses_a_time_without_a_zone() {
        assert_eq!(instant("2026-11-19T23:00:00Z"), Ok(at("2026-11-19T23:00:00Z")));
        assert_eq!(instant("2026-11-20T00:00:00+01:00"), Ok(at("2026-11-19T23:00:00Z")));
        assert_eq!(instant("2026-11-20T00:00:00[Europe/Berlin]"), Ok(at("2026-11-19T23:00:00Z")));
        assert_eq!(instant("2026-11-19"), Ok(at("2026-11-19T00:00:00Z")));
        for text in ["2026-11-19T23:00:00", "2026-11-19 23:00:00", "2026-11-19T23:00"] {
            let error = instant(text).unwrap_err();
            assert!(error.message.contains("no time zone"), "{error}");
            assert!(error.help.contains("2026-11-19T23:00:00Z"), "{error}");
        }
        assert!(instant("tomorrow").unwrap_err().message.contains("no instant"));
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
