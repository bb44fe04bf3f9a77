//! How long a caller waits, as its headers say. A header that cannot be read is ignored.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

/// The deadline of a gRPC call: at most eight digits and a unit.
pub const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// Milliseconds that the caller waits: our own header, and the one that Envoy adds to requests that it forwards.
static HTTP_TIMEOUTS: [HeaderName; 2] = [
    HeaderName::from_static("x-request-timeout-ms"),
    HeaderName::from_static("x-envoy-expected-rq-timeout-ms"),
];

/// The most digits of milliseconds that are read: more than a year.
const MOST_DIGITS: usize = 11;

/// The deadline of a gRPC call.
pub fn grpc(headers: &HeaderMap) -> Option<Duration> {
    grpc_value(headers.get(&GRPC_TIMEOUT)?)
}

/// The deadline in a value of [`GRPC_TIMEOUT`].
pub fn grpc_value(value: &HeaderValue) -> Option<Duration> {
    parse_grpc(value.to_str().ok()?)
}

/// The deadline of an HTTP request: the shorter one if two headers state it. 0 is Envoy's word for no deadline.
pub fn http(headers: &HeaderMap) -> Option<Duration> {
    HTTP_TIMEOUTS.iter().filter_map(|name| parse_ms(headers.get(name)?.as_bytes())).min()
}

fn parse_grpc(text: &str) -> Option<Duration> {
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

fn parse_ms(text: &[u8]) -> Option<Duration> {
    let is_number = (1..=MOST_DIGITS).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    let ms = text.iter().filter(|_| is_number).fold(0, |ms, digit| ms * 10 + u64::from(digit - b'0'));
    (ms > 0).then(|| Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_grpc_unit() {
        for (text, deadline) in [
            ("1H", Duration::from_secs(3600)),
            ("2M", Duration::from_secs(120)),
            ("3S", Duration::from_secs(3)),
            ("20m", Duration::from_millis(20)),
            ("19999u", Duration::from_micros(19_999)),
            ("99999999n", Duration::from_nanos(99_999_999)),
        ] {
            assert_eq!(parse_grpc(text), Some(deadline), "{text}");
        }
    }

    #[test]
    fn ignores_malformed_grpc_timeouts() {
        for text in ["", "S", "5", "-1S", "+1S", "1.5S", "123456789S", "1d", "1é"] {
            assert_eq!(parse_grpc(text), None, "{text}");
        }
    }

    fn check(said: &[(&'static str, &'static str)], expected: Option<u64>) {
        let headers = said.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let headers: HeaderMap = headers.collect();
        assert_eq!(http(&headers), expected.map(Duration::from_millis), "{said:?}");
    }

    #[test]
    fn shorter_header_counts() {
        check(&[], None);
        check(&[("x-request-timeout-ms", "25")], Some(25));
        check(&[("x-envoy-expected-rq-timeout-ms", "15000")], Some(15_000));
        check(&[("x-request-timeout-ms", "25"), ("x-envoy-expected-rq-timeout-ms", "20")], Some(20));
        check(&[("x-request-timeout-ms", "soon"), ("x-envoy-expected-rq-timeout-ms", "20")], Some(20));
    }

    #[test]
    fn ignores_malformed_milliseconds() {
        for text in ["", "0", "-5", "+5", "1.5", "5ms", " 5", "999999999999", "soon"] {
            check(&[("x-request-timeout-ms", text)], None);
        }
    }
}
