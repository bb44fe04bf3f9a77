//! How long a caller of the HTTP door waits, as its headers say.

use std::time::Duration;

use http::{HeaderMap, HeaderName};

/// Milliseconds that the caller waits: our own name for it, and what Envoy tells whom it forwards a request to.
static HEADERS: [HeaderName; 2] = [
    HeaderName::from_static("x-request-timeout-ms"),
    HeaderName::from_static("x-envoy-expected-rq-timeout-ms"),
];

/// The most digits that are read: more than a year.
const MOST_DIGITS: usize = 11;

/// How long the caller waits, if it says so; the shorter one if it says two things. What is no number is as if it were not
/// there, and so is 0, which is Envoy's word for no end.
pub(super) fn of(headers: &HeaderMap) -> Option<Duration> {
    HEADERS.iter().filter_map(|name| parse(headers.get(name)?.as_bytes())).min()
}

fn parse(text: &[u8]) -> Option<Duration> {
    let is_number = (1..=MOST_DIGITS).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    let ms = text.iter().filter(|_| is_number).fold(0, |ms, digit| ms * 10 + u64::from(digit - b'0'));
    (ms > 0).then(|| Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(said: &[(&'static str, &'static str)], expected: Option<u64>) {
        let headers = said.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let headers: HeaderMap = headers.collect();
        assert_eq!(of(&headers), expected.map(Duration::from_millis), "{said:?}");
    }

    #[test]
    fn the_shorter_of_both_counts() {
        check(&[], None);
        check(&[("x-request-timeout-ms", "25")], Some(25));
        check(&[("x-envoy-expected-rq-timeout-ms", "15000")], Some(15_000));
        check(&[("x-request-timeout-ms", "25"), ("x-envoy-expected-rq-timeout-ms", "20")], Some(20));
        check(&[("x-request-timeout-ms", "soon"), ("x-envoy-expected-rq-timeout-ms", "20")], Some(20));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in ["", "0", "-5", "+5", "1.5", "5ms", " 5", "999999999999", "soon"] {
            check(&[("x-request-timeout-ms", text)], None);
        }
    }
}
