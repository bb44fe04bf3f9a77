//! The units of time that Envoy knows.

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// None, or none that is known.
    Unknown,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    /// Thirty days.
    Month,
    /// 365 days.
    Year,
}

struct Row {
    unit: Unit,
    name: &'static str,
    number: i32,
    seconds: u64,
}

const fn row(unit: Unit, name: &'static str, number: i32, seconds: u64) -> Row {
    Row { unit, name, number, seconds }
}

const DAY: u64 = 86_400;

/// By length. The numbers are those of the answer's enum; that of the question has the same but for the week.
const ROWS: [Row; 7] = [
    row(Unit::Second, "SECOND", 1, 1),
    row(Unit::Minute, "MINUTE", 2, 60),
    row(Unit::Hour, "HOUR", 3, 3600),
    row(Unit::Day, "DAY", 4, DAY),
    row(Unit::Week, "WEEK", 7, 7 * DAY),
    row(Unit::Month, "MONTH", 5, 30 * DAY),
    row(Unit::Year, "YEAR", 6, 365 * DAY),
];

impl Unit {
    pub(crate) fn from_number(number: i32) -> Self {
        ROWS.iter().find(|row| row.number == number).map_or(Self::Unknown, |row| row.unit)
    }

    #[cfg(any(test, feature = "http"))]
    pub(crate) fn from_name(name: &str) -> Self {
        ROWS.iter().find(|row| row.name == name).map_or(Self::Unknown, |row| row.unit)
    }

    #[cfg(any(test, feature = "rls"))]
    pub(crate) fn number(self) -> i32 {
        self.row().map_or(0, |row| row.number)
    }

    #[cfg(any(test, feature = "http"))]
    pub(crate) fn name(self) -> &'static str {
        self.row().map_or("UNKNOWN", |row| row.name)
    }

    /// How long it is; nothing if it is unknown.
    pub(crate) fn seconds(self) -> Option<u64> {
        self.row().map(|row| row.seconds)
    }

    /// The unit that is a window, or comes nearest to it: Envoy leaves out what has an unknown one. The shorter of equals.
    pub(crate) fn nearest(window_us: u64) -> Self {
        let factor = |row: &Row| {
            let (a, b) = (u128::from(window_us.max(1)), u128::from(row.seconds) * 1_000_000);
            (a.max(b), a.min(b))
        };
        let nearer = |one: &&Row, other: &&Row| {
            let ((a, b), (c, d)) = (factor(one), factor(other));
            (a * d).cmp(&(c * b))
        };
        ROWS.iter().min_by(nearer).map_or(Self::Unknown, |row| row.unit)
    }

    fn row(self) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.unit == self)
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
    fn numbers_and_names_lead_back_to_their_unit() {
        for row in &ROWS {
            assert_eq!(Unit::from_number(row.unit.number()), row.unit);
            assert_eq!(row.unit.name(), row.name);
        }
        assert_eq!((Unit::from_number(0), Unit::from_number(8)), (Unit::Unknown, Unit::Unknown));
        assert_eq!((Unit::Unknown.number(), Unit::Unknown.name()), (0, "UNKNOWN"));
    }
}
