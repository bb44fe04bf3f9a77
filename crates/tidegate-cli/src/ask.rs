//! Asking a running server: attributes from words, and a small HTTP client.

mod answer;
mod trouble;

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::exit::Failure;
use answer::{parse, parts};
use trouble::WrongDoor;

pub(crate) use trouble::Trouble;

/// How long a server may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer.
const MOST_BYTES: u64 = 16 << 20;

/// What an encrypted door answers to plain words, if anything: the first byte of an alert (RFC 8446, 5.1).
const TLS_ALERT: u8 = 21;
/// What every admin door has.
const ALWAYS_THERE: &str = "/admin/v1/snapshot";

/// Names and values.
pub(crate) type Pairs = Vec<(String, String)>;

/// `name=value` each.
pub(crate) fn pairs(words: &[String]) -> Result<Pairs, Failure> {
    let pair = |word: &String| match word.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) => Err(Failure::Usage("an attribute lacks its name\nhint: write name=value".to_owned())),
        None => Err(Failure::Usage(format!(
            "`{word}` has no value\nhint: write name=value, such as path=/v1/orders"
        ))),
    };
    words.iter().map(pair).collect()
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
        self.asked(path, &request)
    }

    /// Asks for something; the status and the JSON of the answer.
    pub(crate) fn get(&self, path: &str) -> Result<(u16, Value)> {
        let Self { address, proof } = self;
        let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{proof}Connection: close\r\n\r\n");
        self.asked(path, &head)
    }

    /// Asks for a page that is not JSON; its text.
    pub(crate) fn text(&self, path: &str) -> Result<String> {
        let Self { address, proof } = self;
        let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{proof}Connection: close\r\n\r\n");
        let answer =
            self.exchange(&head).map_err(|why| Trouble::Unreachable { address: address.clone(), why })?;
        let (status, body) =
            parts(&answer).with_context(|| format!("{address} does not answer as Tidegate does"))?;
        anyhow::ensure!(status == 200, "the server answered {status}");
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    fn asked(&self, path: &str, request: &str) -> Result<(u16, Value)> {
        let address = || self.address.clone();
        let answer = match self.exchange(request) {
            Err(why) if why.kind() == ErrorKind::ConnectionReset => Vec::new(),
            exchanged => exchanged.map_err(|why| Trouble::Unreachable { address: address(), why })?,
        };
        if answer.is_empty() || answer[0] == TLS_ALERT {
            return Err(Trouble::Encrypted { address: address() }.into());
        }
        let (status, body) =
            parse(&answer).with_context(|| format!("{} does not answer as Tidegate does", self.address))?;
        match status {
            401 if self.proof.is_empty() => Err(Trouble::NoToken { address: address() }.into()),
            401 => Err(Trouble::WrongToken { address: address() }.into()),
            404 if self.is_wrong_door(path) => Err(self.wrong_door(path).into()),
            _ => Ok((status, body)),
        }
    }

    /// Whether a door that has nothing at a path has nothing at all for us. Something else that the admin door always has is
    /// asked for: it may be a rule that is not there.
    fn is_wrong_door(&self, path: &str) -> bool {
        let is_looked_for = path.starts_with("/admin/") && path != ALWAYS_THERE;
        !is_looked_for || self.get(ALWAYS_THERE).is_err_and(|error| error.is::<WrongDoor>())
    }

    fn wrong_door(&self, path: &str) -> WrongDoor {
        let [door, setting, default] = match path {
            path if path.starts_with("/admin/") => ["admin", "admin", "127.0.0.1:6070"],
            _ => ["HTTP", "http", "port 8080"],
        };
        WrongDoor { address: self.address.clone(), door, setting, default }
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
