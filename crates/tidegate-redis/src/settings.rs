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
    /// What homes begin with that have servers of their own as a whole, such as a domain alone: their keys tell it and are four
    /// bytes longer, so that they can be [routed](crate::Routed::route). The same on all nodes.
    pub fronts_apart: Vec<Vec<Vec<u8>>>,
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
            fronts_apart: Vec::new(),
            clock: Clock::Server,
        }
    }
}

/// The secret stays in here.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("prefix", &self.prefix)
            .field("fronts_apart", &self.fronts_apart.len())
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}
