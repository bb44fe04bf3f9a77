//! The caller's deadline, as gRPC sends it. The engine keeps to it: at the deadline the rules' class decides.

use std::time::Duration;

use http::{HeaderName, HeaderValue};

pub(super) const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// How long the caller waits, if it says so: `grpc-timeout`, at most eight digits and a unit. What cannot be read is as if
/// it were not there.
#[cfg(feature = "v1")]
pub(crate) fn of(headers: &http::HeaderMap) -> Option<Duration> {
    read(headers.get(&TIMEOUT)?)
}

pub(super) fn read(value: &HeaderValue) -> Option<Duration> {
    parse(value.to_str().ok()?)
}

fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(amount * 3600)),
        "M" => Some(Duration::from_secs(amount * 60)),
        "S" => Some(Duration::from_secs(amount)),
        "m" => Some(Duration::from_millis(amount)),
        "u" => Some(Duration::from_micros(amount)),
        "n" => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read() {
        for (text, deadline) in [
            ("1H", Duration::from_secs(3600)),
            ("2M", Duration::from_secs(120)),
            ("3S", Duration::from_secs(3)),
            ("20m", Duration::from_millis(20)),
            ("19999u", Duration::from_micros(19_999)),
            ("99999999n", Duration::from_nanos(99_999_999)),
        ] {
            assert_eq!(parse(text), Some(deadline), "{text}");
        }
    }

    #[test]
    fn what_is_no_deadline_is_none() {
        for text in ["", "S", "5", "-1S", "+1S", "1.5S", "123456789S", "1d", "1é"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
