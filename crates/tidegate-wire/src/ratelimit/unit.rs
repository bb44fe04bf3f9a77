//! The units of time that Envoy knows.

/// A unit of time, under its number in the answer's enum; the question's has the same numbers, but no week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// None, or none that is known.
    Unknown = 0,
    Second = 1,
    Minute = 2,
    Hour = 3,
    Day = 4,
    /// Thirty days.
    Month = 5,
    /// 365 days.
    Year = 6,
    Week = 7,
}

const DAY: u64 = 86_400;

/// By length, in seconds.
const LENGTHS: [(Unit, u64); 7] = [
    (Unit::Second, 1),
    (Unit::Minute, 60),
    (Unit::Hour, 3600),
    (Unit::Day, DAY),
    (Unit::Week, 7 * DAY),
    (Unit::Month, 30 * DAY),
    (Unit::Year, 365 * DAY),
];

impl Unit {
    pub(crate) fn from_number(number: i32) -> Self {
        let known = LENGTHS.iter().find(|(unit, _)| *unit as i32 == number);
        known.map_or(Self::Unknown, |(unit, _)| *unit)
    }

    /// Its name in protobuf's enums.
    pub(crate) const fn name(self) -> &'static str {
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
    #[cfg(feature = "http")]
    pub(crate) fn known() -> impl Iterator<Item = Self> {
        LENGTHS.iter().map(|(unit, _)| *unit)
    }

    /// The unit of that name.
    #[cfg(feature = "http")]
    pub(crate) fn from_name(name: &str) -> Self {
        let known = LENGTHS.iter().find(|(unit, _)| unit.name() == name);
        known.map_or(Self::Unknown, |(unit, _)| *unit)
    }

    /// How long it is; nothing if it is unknown.
    pub(crate) fn seconds(self) -> Option<u64> {
        LENGTHS.iter().find(|(unit, _)| *unit == self).map(|(_, seconds)| *seconds)
    }

    /// The unit that is a window, or comes nearest to it: Envoy leaves out what has an unknown one. The shorter of equals.
    pub(crate) fn nearest(window_us: u64) -> Self {
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
            (1, Unit::Second),
            (7, Unit::Second),
            (10, Unit::Minute),
            (60, Unit::Minute),
            (900, Unit::Hour),
            (3600, Unit::Hour),
            (DAY, Unit::Day),
            (7 * DAY, Unit::Week),
            (31 * DAY, Unit::Month),
            (366 * DAY, Unit::Year),
        ] {
            assert_eq!(Unit::nearest(seconds * 1_000_000), unit, "{seconds} s");
        }
        assert_eq!((Unit::nearest(0), Unit::nearest(u64::MAX)), (Unit::Second, Unit::Year));
    }

    #[test]
    fn numbers_lead_back_to_their_unit() {
        for (unit, _) in LENGTHS {
            assert_eq!(Unit::from_number(unit as i32), unit);
        }
        assert_eq!((Unit::from_number(0), Unit::from_number(8)), (Unit::Unknown, Unit::Unknown));
    }
}
