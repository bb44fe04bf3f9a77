//! The other end of a connection, as its listener knows it.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use super::Shown;

/// From where a request came: an extension of the request. Clones are the same connection, which remembers what it was found
/// to be trusted with.
#[derive(Clone, Debug)]
pub struct Peer(Arc<Connection>);

#[derive(Debug)]
struct Connection {
    address: SocketAddr,
    certificate: Option<Certificate>,
    /// For what the door asks, and for what it forwards.
    standings: [OnceLock<u64>; 2],
}

/// A client's certificate, which an authority has vouched for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// Its alternative names, or its common name.
    pub names: Vec<String>,
    /// The SHA-256 hash of the whole.
    pub fingerprint: [u8; 32],
}

impl Peer {
    /// Somebody at an address.
    pub fn at(address: SocketAddr) -> Self {
        Self::showing(address, None)
    }

    /// Somebody at an address, with the certificate that was shown.
    pub fn showing(address: SocketAddr, certificate: Option<Certificate>) -> Self {
        Self(Arc::new(Connection { address, certificate, standings: [OnceLock::new(), OnceLock::new()] }))
    }

    /// From where it connected.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// What it showed.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.0.certificate.as_ref()
    }

    /// What was found before, or is found now.
    pub(super) fn standing(&self, place: usize, find: impl FnOnce() -> u64) -> u64 {
        *self.0.standings[place].get_or_init(find)
    }
}

impl Certificate {
    /// Hosts have no case.
    pub(super) fn shows(&self, shown: &Shown) -> bool {
        match shown {
            Shown::Name(name) => self.names.iter().any(|own| own.eq_ignore_ascii_case(name)),
            Shown::Fingerprint(hash) => self.fingerprint == *hash,
        }
    }
}
