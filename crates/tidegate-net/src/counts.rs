//! Counters of a listener, read by metrics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of a listener's connections.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    /// Connections that are open and past their TLS handshake.
    pub open: AtomicU64,
    /// Connections that were accepted.
    pub accepted: AtomicU64,
    /// Connections that were closed at once because too many were open.
    pub refused: AtomicU64,
    /// TLS handshakes that failed.
    pub failed_handshakes: AtomicU64,
    /// Requests without a token or password that was needed, or with a wrong one.
    pub unauthorized: AtomicU64,
    /// Panics that were contained.
    pub panics: AtomicU64,
}

/// Counts a connection as open until it is dropped.
#[derive(Debug)]
pub struct OpenConnection<'c>(&'c ConnectionCounts);

impl ConnectionCounts {
    /// Counts a connection as open.
    pub fn open(&self) -> OpenConnection<'_> {
        self.open.fetch_add(1, Relaxed);
        OpenConnection(self)
    }
}

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
    }
}
