//! An answer as it came, read as far as a small client needs it.

use anyhow::{Context as _, Result};
use serde_json::Value;

/// The status and the JSON of an answer; nothing, if it has none.
pub(super) fn parse(answer: &[u8]) -> Result<(u16, Value)> {
    let (status, body) = parts(answer)?;
    Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

/// The status and the body of an answer.
pub(super) fn parts(answer: &[u8]) -> Result<(u16, Vec<u8>)> {
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .context("the answer has no end of its head")?;
    let head = std::str::from_utf8(&answer[..end]).context("the answer's head is no text")?;
    let status =
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("the answer has no status")?;
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunked(&answer[end + 4..])? } else { answer[end + 4..].to_vec() };
    Ok((status, body))
}

fn unchunked(mut rest: &[u8]) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n").context("a chunk has no length")?;
        let length = std::str::from_utf8(&rest[..end])
            .ok()
            .and_then(|text| usize::from_str_radix(text.trim(), 16).ok());
        let length = length.context("a chunk has no length")?;
        if length == 0 {
            return Ok(body);
        }
        body.extend_from_slice(rest.get(end + 2..end + 2 + length).context("a chunk is cut off")?);
        rest = rest.get(end + 4 + length..).context("a chunk is cut off")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_put_together() {
        let answer =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\n\r\n";
        let (status, body) = parse(answer).unwrap();
        assert_eq!((status, body["a"].as_u64()), (200, Some(1)));
        assert!(parse(b"rubbish").is_err());
        assert!(unchunked(b"ff\r\nshort").is_err());
    }
}
