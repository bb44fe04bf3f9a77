//! A connection to a node that stays open: one question after another, each answered as a whole.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// One connection. It blocks, up to its patience.
pub(super) struct Asker {
    stream: BufReader<TcpStream>,
}

/// What a node says to a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) status: u16,
    pub(super) state: String,
    pub(super) reason: String,
}

impl Said {
    pub(super) fn is_exact(&self) -> bool {
        self.state == "exact" && self.status != 503
    }
}

impl Asker {
    pub(super) fn connect(to: SocketAddr, patience: Duration) -> Self {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(patience)).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    /// Asks whether a request of this plan, key and organisation may pass.
    pub(super) fn check(&mut self, plan: &str, key: &str, org: &str) -> io::Result<Said> {
        let attributes = format!(r#"{{"plan":"{plan}","api_key":"{key}","org":"{org}"}}"#);
        let body = format!(r#"{{"domain":"api","attributes":{attributes}}}"#);
        let (status, body) = self.post("/v1/check", &body)?;
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        Ok(Said { status, state: text("state"), reason: text("reason") })
    }

    /// Sends JSON, and reads JSON.
    pub(super) fn post(&mut self, path: &str, body: &str) -> io::Result<(u16, Value)> {
        let head = "host: node.test\r\ncontent-type: application/json";
        let request =
            format!("POST {path} HTTP/1.1\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        self.stream.get_mut().write_all(request.as_bytes())?;
        let status = self.line()?.split(' ').nth(1).and_then(|word| word.parse().ok());
        let mut body = vec![0; self.length()?];
        self.stream.read_exact(&mut body)?;
        let body = serde_json::from_slice(&body).map_err(io::Error::other)?;
        Ok((status.ok_or(ErrorKind::InvalidData)?, body))
    }

    /// Reads to the end of the head, and finds the length of the body there.
    fn length(&mut self) -> io::Result<usize> {
        let mut length = 0;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                return Ok(length);
            }
            if let Some(digits) = line.strip_prefix("content-length:") {
                length = digits.trim().parse().map_err(io::Error::other)?;
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}
