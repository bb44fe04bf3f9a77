//! The units of time that Envoy knows.

/// A unit of time, under its number in the answer's enum; the question's has the same numbers, but no week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// None, or none that is known.
    Unknown = 0,
    /// One second.
    Second = 1,
    /// 60 seconds.
    Minute = 2,
    /// 3600 seconds.
    Hour = 3,
    /// 24 hours.
    Day = 4,
    /// Thirty days.
    Month = 5,
    /// 365 days.
    Year = 6,
    /// Seven days.
    Week = 7,
}

const DAY: u64 = 86_400;

/// By length, in seconds.
const LENGTHS: [(TimeUnit, u64); 7] = [
    (TimeUnit::Second, 1),
    (TimeUnit::Minute, 60),
    (TimeUnit::Hour, 3600),
    (TimeUnit::Day, DAY),
    (TimeUnit::Week, 7 * DAY),
    (TimeUnit::Month, 30 * DAY),
    (TimeUnit::Year, 365 * DAY),
];

impl TimeUnit {
    /// The unit of that number.
    pub fn from_number(number: i32) -> Self {
        let known = LENGTHS.iter().find(|(unit, _)| *unit as i32 == number);
        known.map_or(Self::Unknown, |(unit, _)| *unit)
    }

    /// Its name in protobuf's enums.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Second => "SECOND",
            Self::Minute => "MINUTE",
            Self::Hour => "HOUR",
            Self::Day => "DAY",
            Self::Month => "MONTH",
            Self::Year => "YEAR",
            Self::Week => "WEEK",
        }
    }

    /// All of them, by length.
    pub fn known() -> impl Iterator<Item = Self> {
        LENGTHS.iter().map(|(unit, _)| *unit)
    }

    /// The unit of that name.
    pub fn from_name(name: &str) -> Self {
        let known = LENGTHS.iter().find(|(unit, _)| unit.name() == name);
        known.map_or(Self::Unknown, |(unit, _)| *unit)
    }

    /// How long it is; nothing if it is unknown.
    pub fn seconds(self) -> Option<u64> {
        LENGTHS.iter().find(|(unit, _)| *unit == self).map(|(_, seconds)| *seconds)
    }

    /// The unit that is a window, or comes nearest to it: Envoy leaves out what has an unknown one. The shorter of equals.
    pub fn nearest(window_us: u64) -> Self {
        // Most are as long as a unit, and need no arithmetic.
        if let Some((unit, _)) = LENGTHS.iter().find(|(_, seconds)| seconds * 1_000_000 == window_us) {
            return *unit;
        }
        let factor = |seconds: u64| {
            let (a, b) = (u128::from(window_us.max(1)), u128::from(seconds) * 1_000_000);
            (a.max(b), a.min(b))
        };
        let nearest = LENGTHS.iter().min_by(|(_, one), (_, other)| {
            let ((a, b), (c, d)) = (factor(*one), factor(*other));
            (a * d).cmp(&(c * b))
        });
        nearest.map_or(Self::Unknown, |(unit, _)| *unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_reports_the_nearest_known_unit() {
        for (seconds, unit) in [
            (1, TimeUnit::Second),
            (7, TimeUnit::Second),
            (10, TimeUnit::Minute),
            (60, TimeUnit::Minute),
            (900, TimeUnit::Hour),
            (3600, TimeUnit::Hour),
            (DAY, TimeUnit::Day),
            (7 * DAY, TimeUnit::Week),
            (31 * DAY, TimeUnit::Month),
            (366 * DAY, TimeUnit::Year),
        ] {
            assert_eq!(TimeUnit::nearest(seconds * 1_000_000), unit, "{seconds} s");
        }
        assert_eq!((TimeUnit::nearest(0), TimeUnit::nearest(u64::MAX)), (TimeUnit::Second, TimeUnit::Year));
    }

    #[test]
    fn numbers_lead_back_to_their_unit() {
        for (unit, _) in LENGTHS {
            assert_eq!(TimeUnit::from_number(unit as i32), unit);
        }
        assert_eq!(
            (TimeUnit::from_number(0), TimeUnit::from_number(8)),
            (TimeUnit::Unknown, TimeUnit::Unknown)
        );
    }
}
