//! Limits in short: `100/min`, `10/s burst 20`, `5 concurrent`, `1000/month tz Europe/Berlin from 15`.
//!
//! It takes the text and its place and gives what it says, not yet what it means: which algorithm that is, and whether the
//! numbers are possible, is decided where rules are compiled.

use std::time::Duration;

use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// A limit as written in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Short {
    /// So many per time.
    Rate {
        /// How many.
        amount: u64,
        /// Per what.
        per: Per,
        /// How many at once, if that was said.
        burst: Option<u64>,
    },
    /// So many at once.
    Concurrent {
        /// How many.
        slots: u64,
    },
}

/// The time that an amount is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Per {
    /// So long, wherever it begins.
    Span(Duration),
    /// A unit of the calendar, which begins where a zone's calendar says.
    Calendar {
        /// The unit.
        unit: Unit,
        /// The zone's name, if one was given: otherwise UTC.
        zone: Option<String>,
        /// The day of the month, or of the week from Monday on, on which it begins, if one was given.
        from: Option<u8>,
    },
}

/// Units of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// From midnight to midnight.
    Day,
    /// Seven days.
    Week,
    /// From a day to the same day of the next month.
    Month,
    /// From a day to the same day of the next year.
    Year,
}

/// Reads a limit in short. `span` is where the text stands.
///
/// ```
/// use tidegate_rules::{Span, notation::{Per, Short, parse}};
/// use std::time::Duration;
/// let limit = parse("10/s burst 20", Span::new(0, 13)).unwrap();
/// assert_eq!(limit, Short::Rate { amount: 10, per: Per::Span(Duration::from_secs(1)), burst: Some(20) });
/// ```
pub fn parse(text: &str, span: Span) -> Result<Short, Diagnostic> {
    let mut words = Words { text, span, at: 0 };
    let (amount_word, amount_span) = words.next().ok_or_else(|| expected(words.here(), "a limit"))?;
    if let Some(rate) = spaced_rate(text) {
        let said = Diagnostic::error("limit", words.all(), "a rate is one word, without spaces");
        return Err(said.help(format!("write {rate}")));
    }
    let Some((amount, unit)) = amount_word.split_once('/') else {
        return concurrent(&mut words, (amount_word, amount_span));
    };
    let amount_at = amount_span.part_of_start(amount.len());
    let unit_at = Span::new(amount_at.end + 1, amount_span.end);
    let amount = number(amount, amount_at)?;
    let time = time(unit, unit_at)?;
    let options = options(&mut words)?;
    let per = per(time, &options)?;
    Ok(Short::Rate { amount, per, burst: options.burst })
}

/// A length of time, or a unit of the calendar that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// So long.
    Span(Duration),
    /// As long as the calendar makes it.
    Calendar(Unit),
}

/// Reads a length of time such as `10m`, `1h` or `day`.
pub fn duration(text: &str, span: Span) -> Result<Duration, Diagnostic> {
    match window(text, span, false)? {
        Length::Span(length) => Ok(length),
        Length::Calendar(_) => {
            Err(Diagnostic::error("duration", span, "months and years have no fixed length")
                .help("write a length such as 30d"))
        }
    }
}

/// Reads the length of a window; a day or a week is a unit of the calendar if the window follows one.
pub fn window(text: &str, span: Span, by_calendar: bool) -> Result<Length, Diagnostic> {
    let trimmed = text.trim();
    let start = text.find(trimmed).unwrap_or(0);
    let at = span.part(start..start + trimmed.len());
    let (count, time, at) = time(trimmed, at)?;
    let asked = if by_calendar { Some(at) } else { None };
    match per((count, time, at), &Options { calendar: asked, ..Options::default() })? {
        Per::Span(length) => Ok(Length::Span(length)),
        Per::Calendar { unit, .. } => Ok(Length::Calendar(unit)),
    }
}

/// A length as it would be written: in the largest unit that divides it.
pub fn show(length: Duration) -> String {
    let us = length.as_micros();
    let units = [
        (604_800_000_000, "w"),
        (86_400_000_000, "d"),
        (3_600_000_000, "h"),
        (60_000_000, "min"),
        (1_000_000, "s"),
        (1_000, "ms"),
    ];
    let (unit, name) = units.into_iter().find(|(unit, _)| us.is_multiple_of(*unit)).unwrap_or((1, "us"));
    match us / unit {
        1 => name.to_owned(),
        count => format!("{count}{name}"),
    }
}

impl Unit {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// How long it is, more or less: for those who only know lengths.
    pub const fn typical_us(self) -> u64 {
        let days = match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 30,
            Self::Year => 365,
        };
        days * 86_400_000_000
    }
}

const UNITS: [(&str, Time); 24] = [
    ("us", Time::Span(1)),
    ("ms", Time::Span(1_000)),
    ("s", Time::Span(1_000_000)),
    ("sec", Time::Span(1_000_000)),
    ("second", Time::Span(1_000_000)),
    ("seconds", Time::Span(1_000_000)),
    ("m", Time::Span(60_000_000)),
    ("min", Time::Span(60_000_000)),
    ("minute", Time::Span(60_000_000)),
    ("minutes", Time::Span(60_000_000)),
    ("h", Time::Span(3_600_000_000)),
    ("hour", Time::Span(3_600_000_000)),
    ("hours", Time::Span(3_600_000_000)),
    ("d", Time::Calendar(Unit::Day, 86_400_000_000)),
    ("day", Time::Calendar(Unit::Day, 86_400_000_000)),
    ("days", Time::Calendar(Unit::Day, 86_400_000_000)),
    ("w", Time::Calendar(Unit::Week, 604_800_000_000)),
    ("week", Time::Calendar(Unit::Week, 604_800_000_000)),
    ("weeks", Time::Calendar(Unit::Week, 604_800_000_000)),
    ("month", Time::Calendar(Unit::Month, 0)),
    ("months", Time::Calendar(Unit::Month, 0)),
    ("y", Time::Calendar(Unit::Year, 0)),
    ("year", Time::Calendar(Unit::Year, 0)),
    ("years", Time::Calendar(Unit::Year, 0)),
];

const OPTIONS: [&str; 3] = ["burst", "tz", "from"];

/// A unit of time; those of the calendar with their length in µs if they always have the same.
#[derive(Clone, Copy)]
enum Time {
    Span(u64),
    Calendar(Unit, u64),
}

#[derive(Default)]
struct Options {
    burst: Option<u64>,
    zone: Option<String>,
    from: Option<(u8, Span)>,
    /// The first option that only a calendar has.
    calendar: Option<Span>,
}

/// `5 / min`, `5/ min`, `5 per minute` and `5 requests per minute` as they should be written.
fn spaced_rate(text: &str) -> Option<String> {
    let spaced = text.replace('/', " / ");
    let filler = |word: &&str| {
        !matches!(*word, "/" | "per" | "a" | "an" | "every" | "requests" | "request" | "req" | "reqs")
    };
    let all: Vec<&str> = spaced.split_whitespace().collect();
    let mut words = all.iter().copied().filter(filler);
    let (amount, unit) = (words.next()?, words.next()?);
    let is_amount = amount.starts_with(|first: char| first.is_ascii_digit());
    let digits = unit.bytes().take_while(u8::is_ascii_digit).count();
    let lower = unit[digits..].to_lowercase();
    let is_rate = all.len() > words.clone().count() + 2 && UNITS.iter().any(|(name, _)| *name == lower);
    let rest: Vec<&str> = words.collect();
    let rate = format!("{amount}/{unit} {}", rest.join(" "));
    let is_spaced = !text.trim_start().starts_with(&format!("{amount}/{unit}"));
    (is_amount && is_rate && is_spaced).then(|| rate.trim_end().to_owned())
}

fn concurrent(words: &mut Words<'_>, (amount, at): (&str, Span)) -> Result<Short, Diagnostic> {
    let slots = number(amount, at)?;
    match words.next() {
        Some(("concurrent", _)) => {}
        Some((word, at)) => {
            let said = Diagnostic::error("limit", at, format!("`{word}` is not part of a limit"));
            return Err(said.did_you_mean(word, ["concurrent"]).help("write 100/min, or 5 concurrent"));
        }
        None => return Err(expected(words.here(), "a unit").help("write 100/min, or 5 concurrent")),
    }
    match words.next() {
        None => Ok(Short::Concurrent { slots }),
        Some((word, at)) => {
            Err(Diagnostic::error("limit", at, format!("`{word}` says nothing about concurrency"))
                .help("remove it; how long a slot lasts is `term:` in the long form"))
        }
    }
}

fn options(words: &mut Words<'_>) -> Result<Options, Diagnostic> {
    let mut options = Options::default();
    while let Some((word, at)) = words.next() {
        let (value, value_at) = match (word, words.next()) {
            ("burst" | "tz" | "from", Some(value)) => value,
            ("burst" | "tz" | "from", None) => {
                return Err(expected(words.here(), &format!("a value for `{word}`")));
            }
            _ => {
                let said = Diagnostic::error("limit", at, format!("`{word}` is not part of a limit"));
                return Err(said
                    .did_you_mean(word, OPTIONS)
                    .help("after the rate come burst N, tz ZONE or from DAY"));
            }
        };
        let twice = match word {
            "burst" => options.burst.replace(number(value, value_at)?).is_some(),
            "tz" => options.zone.replace(value.to_owned()).is_some(),
            _ => options.from.replace((day(value, value_at)?, value_at)).is_some(),
        };
        if twice {
            return Err(
                Diagnostic::error("limit", at, format!("`{word}` is given twice")).help("keep one of them")
            );
        }
        if word != "burst" {
            options.calendar.get_or_insert(at);
        }
    }
    Ok(options)
}

/// A unit of the calendar counts by the calendar if its length varies or if a zone or a day is given.
fn per(time: (u64, Time, Span), options: &Options) -> Result<Per, Diagnostic> {
    let (count, time, at) = time;
    match (time, options.calendar) {
        (Time::Span(_), Some(option)) => {
            Err(Diagnostic::error("limit", option, "only days, weeks, months and years follow a calendar")
                .help("remove tz and from, or write the limit per day, week, month or year"))
        }
        (Time::Span(us), None) => span_of(count, us, at),
        (Time::Calendar(_, us), None) if us > 0 => span_of(count, us, at),
        (Time::Calendar(..), _) if count != 1 => {
            Err(Diagnostic::error("limit", at, "a calendar window is one day, week, month or year")
                .help("write the amount for one of them"))
        }
        (Time::Calendar(unit, _), _) => {
            let from = options.from.map(|(from, at)| in_unit(from, unit, at)).transpose()?;
            Ok(Per::Calendar { unit, zone: options.zone.clone(), from })
        }
    }
}

fn span_of(count: u64, us: u64, at: Span) -> Result<Per, Diagnostic> {
    let us = count.checked_mul(us).filter(|us| *us > 0);
    us.map(|us| Per::Span(Duration::from_micros(us)))
        .ok_or_else(|| Diagnostic::error("limit", at, "a window has a length, and it is not that long"))
}

pub(crate) fn in_unit(from: u8, unit: Unit, at: Span) -> Result<u8, Diagnostic> {
    let last = match unit {
        Unit::Week => 7,
        Unit::Month => 31,
        Unit::Day | Unit::Year => 0,
    };
    if (1..=last).contains(&from) {
        return Ok(from);
    }
    let message = match unit {
        Unit::Week => "a week begins on a day from 1 (Monday) to 7",
        Unit::Month => "a month begins on a day from 1 to 31",
        Unit::Day | Unit::Year => "only weeks and months can begin on another day",
    };
    Err(Diagnostic::error("limit", at, message))
}

/// `min`, `10s`, `2h`: how many of which unit.
fn time(text: &str, at: Span) -> Result<(u64, Time, Span), Diagnostic> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, word) = text.split_at(digits);
    let count = if count.is_empty() { 1 } else { number(count, at.part_of_start(digits))? };
    let lower = word.to_lowercase();
    if let Some((_, time)) = UNITS.iter().find(|(name, _)| *name == lower) {
        return Ok((count, *time, at));
    }
    let message = match word {
        "" => "a unit of time is missing".to_owned(),
        _ => format!("`{word}` is no unit of time"),
    };
    // Of two that are as near, the first is named: minutes are meant more often than milliseconds.
    let names = ["min"].into_iter().chain(UNITS.iter().map(|(name, _)| *name).filter(|name| name.len() > 1));
    Err(Diagnostic::error("limit", Span::new(at.start + digits, at.end), message)
        .did_you_mean(word, names)
        .help("write s, min, h, day, week, month or year"))
}

/// A whole number of at least 1; underscores group digits, and k, M and G multiply.
fn number(text: &str, at: Span) -> Result<u64, Diagnostic> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        Some(b'G') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let value = digits.replace('_', "").parse::<u64>().ok().and_then(|value| value.checked_mul(factor));
    match value.filter(|_| is_number) {
        Some(0) => Err(Diagnostic::error("limit", at, "0 admits nothing")
            .help("write at least 1, or use `action: block`")),
        Some(value) => Ok(value),
        None => Err(Diagnostic::error("limit", at, format!("`{text}` is no whole number"))
            .help("write 100, 10_000, 10k or 1M")),
    }
}

fn day(text: &str, at: Span) -> Result<u8, Diagnostic> {
    text.parse().map_err(|_| {
        Diagnostic::error("limit", at, format!("`{text}` is no day")).help("write a number, such as 15")
    })
}

fn expected(at: Span, what: &str) -> Diagnostic {
    Diagnostic::error("limit", at, format!("{what} is missing"))
}

impl Span {
    const fn part_of_start(self, length: usize) -> Self {
        self.part(0..length)
    }
}

/// The words of the text with their places.
struct Words<'a> {
    text: &'a str,
    span: Span,
    at: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<(&'a str, Span)> {
        let rest = &self.text[self.at..];
        let start = self.at + (rest.len() - rest.trim_start().len());
        let word = self.text[start..].split_whitespace().next()?;
        self.at = start + word.len();
        Some((word, self.span.part(start..self.at)))
    }

    /// The whole of the text.
    fn all(&self) -> Span {
        let trimmed = self.text.trim();
        let start = self.text.find(trimmed).unwrap_or(0);
        self.span.part(start..start + trimmed.len())
    }

    /// The place right after the last word.
    fn here(&self) -> Span {
        self.span.part(self.at..self.at)
    }
}

#[cfg(test)]
mod tests;
