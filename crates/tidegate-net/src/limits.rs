//! Bounds on the connections of a listener.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// How long a connection that is closing may take after its last request. A peer that has not sent
/// a byte cannot be told to close, so it has this long as well.
pub const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Bounds on the connections of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections open at once.
    pub connections: usize,
    /// Requests under way at once on one HTTP/2 connection.
    pub streams: u32,
    /// How long an HTTP/1 connection waits for the whole head of its next request.
    pub header_timeout: Duration,
    /// How long a request may take as a whole.
    pub request_timeout: Duration,
    /// How long a connection may be open without a request.
    pub idle_timeout: Duration,
    /// How long a connection may be open at all, give or take a tenth.
    pub connection_age: Duration,
}

impl ConnectionLimits {
    /// The age at which one connection closes: a tenth more or less than the setting, so that
    /// connections that were opened together do not all close together.
    pub(crate) fn jittered_age(&self) -> Duration {
        let permille = u32::try_from(RandomState::new().hash_one(0) % 201).unwrap_or(0);
        self.connection_age * (900 + permille) / 1000
    }
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            streams: 256,
            header_timeout: Duration::from_secs(60),
            request_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(300),
            connection_age: Duration::from_secs(3600),
        }
    }
}
