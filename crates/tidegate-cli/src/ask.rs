//! Asking a running server: attributes from words, and a small HTTP client.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::exit::Failure;

/// How long a server may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer.
const MOST_BYTES: u64 = 16 << 20;

/// Names and values.
pub(crate) type Pairs = Vec<(String, String)>;

/// `name=value` each.
pub(crate) fn pairs(words: &[String]) -> Result<Pairs, Failure> {
    let pair = |word: &String| match word.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) => Err(Failure::Usage("an attribute lacks its name\nhint: write name=value".to_owned())),
        None => Err(Failure::Usage(format!(
            "`{word}` is no attribute\nhint: write name=value, such as path=/v1/orders"
        ))),
    };
    words.iter().map(pair).collect()
}

/// The server cannot be reached.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach {address}: {why}\nhint: is `tidegate serve` running there?")]
pub(crate) struct Unreachable {
    address: String,
    why: std::io::Error,
}

/// The server wants to know who asks.
#[derive(Debug, thiserror::Error)]
#[error("{address} wants a token\nhint: write it to a file and name that: TIDEGATE_TOKEN_FILE=…")]
pub(crate) struct Unauthorised {
    address: String,
}

/// Speaks just enough HTTP to ask a server.
#[derive(Debug)]
pub(crate) struct Client {
    address: String,
    /// The line that proves who asks, if a token was given.
    proof: String,
}

impl Client {
    /// A server's address: `http://127.0.0.1:8080` or `127.0.0.1:8080`.
    pub(crate) fn new(server: &str) -> Result<Self, Failure> {
        let wrong = |message: String| Err(Failure::Usage(message));
        if server.starts_with("https://") {
            return wrong("only http:// can be asked\nhint: ask the server on its own machine".to_owned());
        }
        let address = server.trim_start_matches("http://").trim_end_matches('/').to_owned();
        if address.is_empty() || address.contains('/') {
            return wrong(format!("`{server}` is no address of a server\nhint: write http://127.0.0.1:8080"));
        }
        Ok(Self { address, proof: proof()? })
    }

    /// Posts JSON; the status and the JSON of the answer.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        self.send("POST", path, Some(body))
    }

    /// Sends a request, with JSON if there is some; the status and the JSON of the answer.
    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{}Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            self.proof,
            body.len()
        );
        self.asked(&request)
    }

    /// Asks for something; the status and the JSON of the answer.
    pub(crate) fn get(&self, path: &str) -> Result<(u16, Value)> {
        let Self { address, proof } = self;
        self.asked(&format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{proof}Connection: close\r\n\r\n"))
    }

    fn asked(&self, request: &str) -> Result<(u16, Value)> {
        let answer =
            self.exchange(request).map_err(|why| Unreachable { address: self.address.clone(), why })?;
        let (status, body) =
            parse(&answer).with_context(|| format!("{} does not answer as Tidegate does", self.address))?;
        if status == 401 {
            return Err(Unauthorised { address: self.address.clone() }.into());
        }
        Ok((status, body))
    }

    fn exchange(&self, request: &str) -> std::io::Result<Vec<u8>> {
        let mut last = std::io::Error::new(std::io::ErrorKind::NotFound, "no such host");
        for address in self.address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(mut stream) => {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.write_all(request.as_bytes())?;
                    let mut answer = Vec::new();
                    stream.take(MOST_BYTES).read_to_end(&mut answer)?;
                    return Ok(answer);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// A server that wants a token is told that of the file that `TIDEGATE_TOKEN_FILE` names.
fn proof() -> Result<String, Failure> {
    let Some(path) = std::env::var_os("TIDEGATE_TOKEN_FILE") else { return Ok(String::new()) };
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!("TIDEGATE_TOKEN_FILE: {} cannot be read", std::path::Path::new(&path).display())
    })?;
    let token = text.lines().next().unwrap_or_default().trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::Usage("the file of TIDEGATE_TOKEN_FILE holds no token".to_owned()));
    }
    Ok(format!("Authorization: Bearer {token}\r\n"))
}

fn parse(answer: &[u8]) -> Result<(u16, Value)> {
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .context("the answer has no end of its head")?;
    let head = std::str::from_utf8(&answer[..end]).context("the answer's head is no text")?;
    let status =
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("the answer has no status")?;
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunked(&answer[end + 4..])? } else { answer[end + 4..].to_vec() };
    Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
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

/// A name as a segment of a path.
pub(crate) fn segment(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(one).collect()
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

    #[test]
    fn every_name_is_one_segment() {
        assert_eq!(segment("per-key_1.2~"), "per-key_1.2~");
        assert_eq!(segment("a/b c=%#é"), "a%2Fb%20c%3D%25%23%C3%A9");
    }

    #[test]
    fn words_are_attributes() {
        let words = |words: &[&str]| pairs(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(
            words(&["a=b=c", "d="]).unwrap(),
            [("a".into(), "b=c".into()), ("d".into(), String::new())]
        );
        let Err(Failure::Usage(message)) = words(&["nothing"]) else { panic!() };
        assert!(message.contains("name=value"), "{message}");
    }
}
