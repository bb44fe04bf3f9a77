//! A connection that sends bytes and counts replies.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, bail};
use tidegate_rig::Server;

pub(super) struct Line {
    replies: BufReader<TcpStream>,
    text: Vec<u8>,
}

impl Line {
    pub(super) fn open(server: &Server) -> Result<Self> {
        let stream = TcpStream::connect(server.address())?;
        stream.set_nodelay(true)?;
        Ok(Self { replies: BufReader::with_capacity(1 << 16, stream), text: Vec::new() })
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.replies.get_mut().write_all(bytes)?)
    }

    /// Reads one reply and what is in it. Fails if it is an error.
    pub(super) fn take(&mut self) -> Result<()> {
        self.text.clear();
        self.replies.read_until(b'\n', &mut self.text)?;
        let (kind, rest) = self.text.split_first().context("the server has closed the connection")?;
        let rest = std::str::from_utf8(rest)?.trim_end();
        match kind {
            b'+' | b':' => Ok(()),
            b'$' => match rest.parse::<i64>()? {
                ..0 => Ok(()),
                bytes => self.skip(bytes.unsigned_abs() + 2),
            },
            b'*' => (0..rest.parse::<i64>()?).try_for_each(|_| self.take()),
            _ => bail!("the server answers {rest}"),
        }
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        let skipped = std::io::copy(&mut (&mut self.replies).take(bytes), &mut std::io::sink())?;
        if skipped == bytes { Ok(()) } else { bail!("a reply ends too early") }
    }
}
