//! Lengths of time for people: two units at most, rounded up so that nobody comes back too early.

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// From here on hours are left out.
const MANY_DAYS: u64 = 10;

/// A length of time in words, such as `1 min 5 s` or `12 days`.
pub(crate) fn length(ms: u64) -> String {
    match ms {
        0..SECOND_MS => format!("{ms} ms"),
        SECOND_MS..HOUR_MS => {
            let seconds = ms.div_ceil(SECOND_MS);
            pair((seconds / 60, "min"), (seconds % 60, "s"))
        }
        HOUR_MS..DAY_MS => {
            let minutes = ms.div_ceil(MINUTE_MS);
            pair((minutes / 60, "h"), (minutes % 60, "min"))
        }
        _ => {
            let hours = ms.div_ceil(HOUR_MS);
            let (days, hours) =
                if hours / 24 < MANY_DAYS { (hours / 24, hours % 24) } else { (hours.div_ceil(24), 0) };
            pair((days, if days == 1 { "day" } else { "days" }), (hours, "h"))
        }
    }
}

/// A length of time that begins now: `in 12 days`, or `now`.
pub(crate) fn ahead(ms: u64) -> String {
    if ms == 0 { "now".to_owned() } else { format!("in {}", length(ms)) }
}

fn pair((large, large_unit): (u64, &str), (small, small_unit): (u64, &str)) -> String {
    match (large, small) {
        (0, small) => format!("{small} {small_unit}"),
        (large, 0) => format!("{large} {large_unit}"),
        (large, small) => format!("{large} {large_unit} {small} {small_unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_for_people() {
        for (ms, said) in [
            (0, "now"),
            (350, "in 350 ms"),
            (1_001, "in 2 s"),
            (59_001, "in 1 min"),
            (64_100, "in 1 min 5 s"),
            (3_599_500, "in 60 min"),
            (3_600_000, "in 1 h"),
            (7_500_000, "in 2 h 5 min"),
            (86_400_000, "in 1 day"),
            (100_000_000, "in 1 day 4 h"),
            (1_036_800_000, "in 12 days"),
            (1_030_000_000, "in 12 days"),
        ] {
            assert_eq!(ahead(ms), said, "{ms}");
        }
    }
}
