//! The byte stream of a connection, plain or encrypted.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::deadline::{Failure, within};

/// The byte stream of a connection, plain or encrypted.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Writes what the system takes at once, without registering a waker. Returns the bytes written.
    fn try_write_now(&self, bytes: &[u8]) -> usize {
        let _ = bytes;
        0
    }
}

impl ByteStream for TcpStream {
    fn try_write_now(&self, bytes: &[u8]) -> usize {
        // An error comes back with the next write, which reports it.
        self.try_write(bytes).unwrap_or(0)
    }
}

impl ByteStream for TlsStream<TcpStream> {}

/// A pipe in memory, for tests of handlers.
impl ByteStream for DuplexStream {}

/// Writes and flushes all bytes within `limit`.
pub async fn send_within(stream: &mut impl ByteStream, bytes: &[u8], limit: Duration) -> io::Result<()> {
    let rest = &bytes[stream.try_write_now(bytes)..];
    if rest.is_empty() {
        return Ok(());
    }
    let sending = async {
        stream.write_all(rest).await?;
        stream.flush().await
    };
    within(limit, sending).await.unwrap_or_else(|failure| match failure {
        Failure::TimedOut => Err(io::ErrorKind::TimedOut.into()),
        Failure::Panicked => Err(io::Error::other("the stream panicked")),
    })
}
