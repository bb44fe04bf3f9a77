//! Checks as they lie in what came over a connection, which are read and answered without a library in between.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;
use tidegate_store::Reference;
use tidegate_wire::door::Door;
use tidegate_wire::http::{Checks, Heard, MOST_PLAIN_BYTES, Part, hear};

use crate::told::{headers_are_sound, is_undecided, problem_is_sound};

/// How a plain one begins; what is made up seldom does.
const LINE: &[u8] = b"POST /v1/check HTTP/1.1\r\n";

/// Answers whatever is plain, from the beginning on, as it came and behind a first line.
pub(super) fn run(door: &Door<Reference>, bytes: &[u8]) {
    let checks = Checks::new(door.clone());
    for mut came in [bytes.to_vec(), [LINE, bytes].concat()] {
        while let Heard::Check(plain) = hear(&came) {
            let whole = plain.bytes();
            assert!(whole <= came.len().min(MOST_PLAIN_BYTES) && whole > LINE.len());
            for part in [0, LINE.len(), whole / 2, whole - 1] {
                let heard = hear(&came[..part]);
                let is_part = matches!(heard, Heard::Part(Part::Head | Part::Body));
                assert!(is_part || is_timed(&came), "{part} of {whole} bytes");
            }
            let mut out = Vec::new();
            checks.answer_at_once(&plain, None, &mut out);
            answer_is_sound(&out);
            came.drain(..whole);
        }
    }
}

/// Whether it may have a caller who does not wait for its body.
fn is_timed(came: &[u8]) -> bool {
    let name = b"timeout-ms";
    came.windows(name.len()).any(|window| window.eq_ignore_ascii_case(name))
}

/// It is one answer and nothing else.
fn answer_is_sound(answer: &[u8]) {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("its head ends");
    let head = std::str::from_utf8(&answer[..end]).expect("it is ASCII");
    let body: Value = serde_json::from_slice(&answer[end + 4..]).expect("it is JSON");
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.split(' ').next());
    let status: StatusCode = status.and_then(|status| status.parse().ok()).expect("it has a status");
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(": ").expect("a header has a name");
        let name: HeaderName = name.parse().expect("that is a name");
        let twin = headers.insert(name, HeaderValue::from_str(value).expect("that is a value"));
        assert!(twin.is_none(), "{line} comes twice");
    }
    assert_eq!(headers["content-length"].to_str().expect("digits"), (answer.len() - end - 4).to_string());
    assert!(is_undecided(&body) || !status.is_server_error(), "{status}");
    headers_are_sound(&headers);
    if headers["content-type"] == "application/problem+json" {
        problem_is_sound(status.as_u16(), &headers, &body);
    } else {
        assert_eq!(status, StatusCode::OK);
    }
}
