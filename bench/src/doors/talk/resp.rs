//! Commands of the Redis protocol, one or several at once.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Talker, sockets};
use crate::doors::requests::Requests;

/// An answer is an array of five numbers, which is six lines, and the first number says whether one may pass.
const LINES: usize = 6;
const YES: &[u8] = b"*5\r\n:1\r\n";

pub(in crate::doors) struct Caller {
    socket: TcpStream,
    requests: Arc<Requests>,
    written: Vec<u8>,
    read: Vec<u8>,
}

/// One caller on each of so many connections.
pub(in crate::doors) async fn connect(
    address: SocketAddr,
    requests: &Arc<Requests>,
    connections: usize,
) -> Result<Vec<Caller>> {
    let caller = |socket| {
        let (written, read) = (Vec::new(), Vec::with_capacity(4096));
        Caller { socket, requests: Arc::clone(requests), written, read }
    };
    Ok(sockets(address, connections).await?.into_iter().map(caller).collect())
}

impl Talker for Caller {
    async fn ask(&mut self, checks: Range<usize>) -> Result<()> {
        let mut lines = checks.len() * LINES;
        self.written.clear();
        for check in checks {
            self.written.extend_from_slice(&self.requests.of(check));
        }
        self.socket.write_all(&self.written).await?;
        self.read.clear();
        while lines > 0 {
            let before = self.read.len();
            ensure!(self.socket.read_buf(&mut self.read).await? > 0, "the server hangs up");
            ensure!(
                self.read.starts_with(&YES[..self.read.len().min(YES.len())]),
                "a request was refused: {}",
                String::from_utf8_lossy(&self.read)
            );
            let read = self.read[before..].split(|byte| *byte == b'\n').count() - 1;
            lines = lines.saturating_sub(read);
        }
        Ok(())
    }
}
