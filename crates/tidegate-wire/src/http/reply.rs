//! An answer whose body is known as a whole: as a response among others, or as its bytes over HTTP/1.1.

use std::cell::Cell;
use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use tidegate_core::Timestamp;

use crate::digits;
use crate::headers::HeaderLines;

/// An answer. The type of its body is not among its headers.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderLines,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
}

impl Reply {
    /// An answer that says nothing but its body.
    pub(super) fn new(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Self {
        Self { status, headers: HeaderLines::default(), content_type, body }
    }

    /// Writes it as it goes over a connection that stays open.
    pub(super) fn write(&self, now: Timestamp, out: &mut Vec<u8>) {
        write_head(out, self.status, self.headers.bytes());
        field(out, CONTENT_TYPE.as_str(), self.content_type.as_bytes());
        write_body(out, &self.body, now);
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        self.headers.put_into(response.headers_mut());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        response
    }
}

/// The status and the headers.
pub(super) fn write_head<'n, 'v>(
    out: &mut Vec<u8>,
    status: StatusCode,
    headers: impl Iterator<Item = (&'n str, &'v [u8])>,
) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or("<none>").as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in headers {
        field(out, name, value);
    }
}

/// How long the body is, when it was sent, and the body.
pub(super) fn write_body(out: &mut Vec<u8>, body: &[u8], now: Timestamp) {
    out.extend_from_slice(b"content-length: ");
    digits::write(out, body.len() as u64);
    out.extend_from_slice(b"\r\ndate: ");
    out.extend_from_slice(&date(now));
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(body);
}

fn field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// As long as every date is, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
type Date = [u8; 29];

/// The last second that can be told: the year has four digits.
const LAST_S: u64 = 253_402_300_799;

/// The date. It is another one once a second only.
fn date(now: Timestamp) -> Date {
    thread_local! {
        static LAST: Cell<(u64, Date)> = const { Cell::new((u64::MAX, [0; 29])) };
    }
    let second = (now.as_micros() / 1_000_000).min(LAST_S);
    let (known, date) = LAST.get();
    if known == second {
        return date;
    }
    let date = written(second);
    LAST.set((second, date));
    date
}

fn written(second: u64) -> Date {
    let mut text = String::with_capacity(29);
    let date = httpdate::HttpDate::from(UNIX_EPOCH + Duration::from_secs(second));
    write!(text, "{date}").expect("memory takes it");
    text.as_bytes().try_into().expect("every date is as long")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_written_as_it_goes_over_the_wire() {
        let mut reply = Reply::new(StatusCode::TOO_MANY_REQUESTS, "text/plain", b"no\n".to_vec());
        reply.headers.number("retry-after", 7);
        let mut out = b"before".to_vec();
        reply.write(Timestamp::from_micros(784_111_777_999_999), &mut out);
        let expected = "beforeHTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-type: text/plain\r\n\
                        content-length: 3\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\nno\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn every_second_has_its_date() {
        for (second, expected) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1, "Thu, 01 Jan 1970 00:00:01 GMT"),
            (1, "Thu, 01 Jan 1970 00:00:01 GMT"),
            (u64::MAX / 1_000_000, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(date(Timestamp::from_micros(second * 1_000_000)), expected.as_bytes());
        }
    }
}
