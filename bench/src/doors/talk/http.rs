//! Requests over connections of HTTP/1.1 that are kept open.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Talker, sockets};
use crate::doors::requests::Requests;

/// How ours and throttlecrab say yes.
const YES: [&[u8]; 2] = [b"\"decision\":\"allow\"", b"\"allowed\":true"];

pub(in crate::doors) struct Caller {
    socket: TcpStream,
    requests: Arc<Requests>,
    read: Vec<u8>,
}

/// One caller on each of so many connections.
pub(in crate::doors) async fn connect(
    address: SocketAddr,
    requests: &Arc<Requests>,
    connections: usize,
) -> Result<Vec<Caller>> {
    let caller = |socket| Caller { socket, requests: Arc::clone(requests), read: Vec::with_capacity(4096) };
    Ok(sockets(address, connections).await?.into_iter().map(caller).collect())
}

impl Talker for Caller {
    async fn ask(&mut self, checks: Range<usize>) -> Result<()> {
        for check in checks {
            self.socket.write_all(&self.requests.of(check)).await?;
            self.read.clear();
            let head = loop {
                ensure!(self.socket.read_buf(&mut self.read).await? > 0, "the server hangs up");
                if let Some(head) = end_of_head(&self.read) {
                    break head;
                }
            };
            let text = std::str::from_utf8(&self.read[..head])?;
            let length = length(text).context("an answer does not say how long it is")?;
            while self.read.len() < head + length {
                ensure!(self.socket.read_buf(&mut self.read).await? > 0, "the server hangs up");
            }
            let body = &self.read[head..];
            let passes = YES.iter().any(|yes| contains(body, yes));
            if !self.read.starts_with(b"HTTP/1.1 200") || !passes {
                bail!("a request was refused: {}", String::from_utf8_lossy(&self.read));
            }
        }
        Ok(())
    }
}

fn end_of_head(read: &[u8]) -> Option<usize> {
    read.windows(4).position(|bytes| bytes == b"\r\n\r\n").map(|at| at + 4)
}

fn length(head: &str) -> Option<usize> {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let found = fields.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    found.and_then(|(_, value)| value.trim().parse().ok())
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|bytes| bytes == part)
}
