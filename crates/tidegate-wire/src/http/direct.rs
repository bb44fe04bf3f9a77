//! `POST /v1/check` over HTTP/1.1 as it lies in what came over a connection. Nearly all of them are plain: they come as a whole,
//! say how long they are, and have no header that changes how a connection is used. Those are read where they lie. Whatever
//! is not plain is left, from its first byte on, to somebody who knows all of HTTP.

use httparse::{EMPTY_HEADER, Status};

/// How every plain one begins.
const LINE: &[u8] = b"POST /v1/check HTTP/1.1\r\n";

/// More headers are for somebody else.
const MOST_HEADERS: usize = 32;

/// The most digits of a length.
const MOST_DIGITS: usize = 9;

/// Bytes that a plain one has at most, with its head.
pub const MOST_PLAIN_BYTES: usize = 8 << 10;

/// What stands at the beginning of what came.
#[derive(Debug)]
pub enum Heard<'b> {
    /// A check, as a whole.
    Check(Plain<'b>),
    /// As far as can be seen, the beginning of one.
    Part(Part),
    /// Something else.
    Other,
}

/// What is missing of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Some of its head, and all of its body.
    Head,
    /// Some of its body.
    Body,
}

/// A plain check over HTTP/1.1. Not to be shown: values may be secret.
pub struct Plain<'b> {
    pub(super) head: Head<'b>,
    pub(super) body: &'b [u8],
    bytes: usize,
}

/// The values of headers that mean something to a check. None of them comes twice.
#[derive(Default)]
pub(super) struct Head<'b> {
    pub(super) content_type: Option<&'b [u8]>,
    pub(super) authorization: Option<&'b [u8]>,
    pub(super) token: Option<&'b [u8]>,
    /// How long the caller waits, by both names of it.
    pub(super) timeouts: [Option<&'b [u8]>; 2],
    length: Option<&'b [u8]>,
}

impl Plain<'_> {
    /// How many bytes it has, with its head.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl std::fmt::Debug for Plain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plain").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Reads what came, from its beginning.
pub fn hear(came: &[u8]) -> Heard<'_> {
    let known = came.len().min(LINE.len());
    if came[..known] != LINE[..known] {
        return Heard::Other;
    }
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let (end, headers) = match httparse::parse_headers(&came[known..], &mut headers) {
        Ok(Status::Complete((end, headers))) => (known + end, headers),
        Ok(Status::Partial) => return Heard::Part(Part::Head),
        Err(_) => return Heard::Other,
    };
    let Some(head) = Head::of(headers) else { return Heard::Other };
    let Some(length) = head.length.and_then(number) else { return Heard::Other };
    match came[end..].get(..length) {
        _ if end + length > MOST_PLAIN_BYTES => Heard::Other,
        Some(body) => Heard::Check(Plain { head, body, bytes: end + length }),
        // Its time is running.
        None if head.timeouts.iter().any(Option::is_some) => Heard::Other,
        None => Heard::Part(Part::Body),
    }
}

impl<'b> Head<'b> {
    /// `None` if there is a header that is for somebody else, or one comes twice that should come once.
    fn of(headers: &[httparse::Header<'b>]) -> Option<Self> {
        let mut head = Self::default();
        for header in headers {
            let place = match Meaning::of(header.name) {
                Meaning::None => continue,
                Meaning::Connection if header.value.eq_ignore_ascii_case(b"keep-alive") => continue,
                Meaning::Connection | Meaning::Other => return None,
                Meaning::Length => &mut head.length,
                Meaning::ContentType => &mut head.content_type,
                Meaning::Authorization => &mut head.authorization,
                Meaning::Token => &mut head.token,
                Meaning::Timeout(which) => &mut head.timeouts[which],
            };
            if place.replace(header.value).is_some() {
                return None;
            }
        }
        Some(head)
    }
}

/// What a header is to a check.
#[derive(Clone, Copy)]
enum Meaning {
    None,
    Length,
    ContentType,
    Authorization,
    Token,
    Timeout(usize),
    Connection,
    /// It changes what the connection or the body is.
    Other,
}

impl Meaning {
    fn of(name: &str) -> Self {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match name.len() {
            6 if is("expect") => Self::Other,
            7 if is("upgrade") => Self::Other,
            10 if is("connection") => Self::Connection,
            12 if is("content-type") => Self::ContentType,
            13 if is("authorization") => Self::Authorization,
            14 if is("content-length") => Self::Length,
            16 if is("x-tidegate-token") => Self::Token,
            17 if is("transfer-encoding") => Self::Other,
            20 if is("x-request-timeout-ms") => Self::Timeout(0),
            30 if is("x-envoy-expected-rq-timeout-ms") => Self::Timeout(1),
            _ => Self::None,
        }
    }
}

fn number(digits: &[u8]) -> Option<usize> {
    let is_number = (1..=MOST_DIGITS).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::X_TIDEGATE_TOKEN;

    const BODY: &str = r#"{"domain":"api"}"#;

    /// A request with these headers and that body.
    fn request(headers: &str, body: &str) -> String {
        format!("POST /v1/check HTTP/1.1\r\nhost: a\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
    }

    fn is_other(came: &str) -> bool {
        matches!(hear(came.as_bytes()), Heard::Other)
    }

    #[test]
    fn a_plain_check_is_there_once_its_last_byte_is() {
        let came = request("Content-Type: application/json\r\nConnection: Keep-Alive\r\n", BODY);
        let head = came.len() - BODY.len();
        for known in 0..came.len() {
            let expected = if known < head { Part::Head } else { Part::Body };
            let Heard::Part(part) = hear(&came.as_bytes()[..known]) else {
                panic!("{known} bytes are a part")
            };
            assert_eq!(part, expected, "{known} bytes");
        }
        let twice = came.repeat(2);
        let Heard::Check(plain) = hear(twice.as_bytes()) else { panic!("it is plain") };
        assert_eq!((plain.bytes(), plain.body), (came.len(), BODY.as_bytes()));
        assert_eq!(plain.head.content_type, Some(&b"application/json"[..]));
        assert!(!format!("{plain:?}").contains("api"));
    }

    #[test]
    fn what_means_something_is_kept_whatever_its_case() {
        let headers = "AUTHORIZATION: Bearer a\r\nX-Tidegate-Token: b\r\nx-request-timeout-ms: 5\r\n\
                       X-Envoy-Expected-Rq-Timeout-Ms: 6\r\nother: c\r\n";
        let came = request(headers, "");
        let Heard::Check(Plain { head, .. }) = hear(came.as_bytes()) else { panic!("it is plain") };
        assert_eq!(head.authorization, Some(&b"Bearer a"[..]));
        assert_eq!(head.token, Some(&b"b"[..]));
        assert_eq!(head.timeouts, [Some(&b"5"[..]), Some(&b"6"[..])]);
        for name in super::super::patience::HEADERS.iter().cloned().chain([X_TIDEGATE_TOKEN]) {
            assert!(!matches!(Meaning::of(name.as_str()), Meaning::None), "{name} means something");
        }
    }

    #[test]
    fn whoever_does_not_wait_long_is_not_kept_waiting_here() {
        let came = request("x-request-timeout-ms: 5\r\n", BODY);
        assert!(matches!(hear(came.as_bytes()), Heard::Check(_)));
        assert!(is_other(&came[..came.len() - 1]));
    }

    #[test]
    fn whatever_is_not_plain_is_for_somebody_else() {
        for headers in [
            "transfer-encoding: chunked\r\n",
            "Connection: close\r\n",
            "connection: keep-alive, upgrade\r\n",
            "upgrade: h2c\r\n",
            "Expect: 100-continue\r\n",
            "content-length: 16\r\n",
            &format!("long: {}\r\n", "a".repeat(MOST_PLAIN_BYTES)),
            "authorization: a\r\nauthorization: b\r\n",
            "no header\r\n",
            " folded: a\r\n",
            "bad name: a\r\n",
            &"a: b\r\n".repeat(MOST_HEADERS),
        ] {
            assert!(is_other(&request(headers, BODY)), "{headers}");
        }
        for line in [
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "GET /v1/check HTTP/1.1\r\n\r\n",
            "POST /v1/check HTTP/1.0\r\n\r\n",
            "POST /v1/check?a HTTP/1.1\r\n\r\n",
            "POST /v1/peek HTTP/1.1\r\n\r\n",
            "POST  /v1/check HTTP/1.1\r\n\r\n",
            "POST /v1/check HTTP/1.1\n\n",
            "\r\nPOST /v1/check HTTP/1.1\r\n\r\n",
            "POST /v1/check HTTP/1.1\r\n\r\n",
        ] {
            assert!(is_other(line), "{line}");
        }
    }

    #[test]
    fn a_length_is_digits_and_nothing_else_and_not_too_many() {
        for length in ["", "+1", "-1", "1 1", "1,1", "0x1", "99999", "1234567890", "\u{661}"] {
            let came = format!("POST /v1/check HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{BODY}");
            assert!(is_other(&came), "{length}");
        }
    }
}
