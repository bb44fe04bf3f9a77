//! The other end of a connection.

use std::net::SocketAddr;

/// The other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The address that it connected from.
    pub address: SocketAddr,
    /// The certificate that it presented in the TLS handshake; an authority has vouched for it.
    pub certificate: Option<Certificate>,
}

/// What identifies the holder of a client certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// Its alternative names (DNS and URI), or its common name if there are none.
    pub names: Vec<String>,
    /// The SHA-256 hash of the whole certificate in DER.
    pub fingerprint: [u8; 32],
}

impl Peer {
    /// A peer that presented no certificate.
    pub const fn at(address: SocketAddr) -> Self {
        Self { address, certificate: None }
    }
}
