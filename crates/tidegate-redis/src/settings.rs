//! What an operator sets of a store in Redis.

use crate::names::DEFAULT_PREFIX;

/// How the store names its keys, and whose clock it follows.
#[derive(Clone)]
pub struct Settings {
    /// What all keys begin with; one for each environment that shares a server. With more than two bytes keys take more
    /// memory.
    pub prefix: String,
    /// What names are hashed with: the same on all nodes, and secret if what callers send is.
    pub secret: [u8; 16],
    /// Domains that have servers of their own: their keys tell the domain and are four bytes longer, so that they can be
    /// [routed](crate::Routed::route) as a whole. The same on all nodes.
    pub domains_apart: Vec<String>,
    /// Whose clock counts.
    pub clock: Clock,
}

/// Whose clock counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The server's: one for each shard, whatever the nodes' clocks show.
    #[default]
    Server,
    /// The caller's, for tests and replays. Values are kept an hour longer than they count, because the server does not know
    /// what time it is.
    Given,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prefix: DEFAULT_PREFIX.to_owned(),
            secret: *b"tidegate counter",
            domains_apart: Vec::new(),
            clock: Clock::Server,
        }
    }
}

/// The secret stays in here.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("prefix", &self.prefix)
            .field("domains_apart", &self.domains_apart)
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}
