//! What is granted to whom: by which proof, for which attributes.

use std::fmt;
use std::sync::Arc;

use super::Peer;
use crate::client_ip::Trusted;

/// Whether a word is the one that must be known.
pub type Proof = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Whose word counts for which attributes. Everything that is asked for must be shown; a grant that asks for nothing is
/// nobody's.
#[derive(Clone, Default)]
pub struct Grant {
    /// It comes from one of these networks.
    pub networks: Option<Trusted>,
    /// It knows this token.
    pub token: Option<Proof>,
    /// It shows this certificate.
    pub certificate: Option<Shown>,
    /// The attributes that it may state; all of them if none are named.
    pub attributes: Option<Vec<String>>,
}

/// What is looked at in a client's certificate, which an authority has vouched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A name: one of its alternative names (a host or a URI), or its common name if it has no such names.
    Name(String),
    /// The SHA-256 hash of the whole certificate.
    Fingerprint([u8; 32]),
}

impl Grant {
    /// All attributes, to whoever comes from these networks.
    pub fn to_networks(networks: Trusted) -> Self {
        Self { networks: Some(networks), ..Self::default() }
    }

    /// All attributes, to whoever knows that token.
    pub fn to_token(token: Proof) -> Self {
        Self { token: Some(token), ..Self::default() }
    }

    /// The networks, if nothing else is asked for.
    pub(super) fn by_network_alone(&self) -> Option<&Trusted> {
        self.networks.as_ref().filter(|_| self.token.is_none() && self.certificate.is_none())
    }

    /// Whether a connection shows what is asked of it; the token is not.
    pub(super) fn is_met_by(&self, peer: Option<&Peer>) -> bool {
        let comes_from = |networks: &Trusted| peer.is_some_and(|peer| networks.contains(peer.address().ip()));
        let shows = |shown: &Shown| {
            peer.and_then(Peer::certificate).is_some_and(|certificate| certificate.shows(shown))
        };
        let asks = self.networks.is_some() || self.token.is_some() || self.certificate.is_some();
        asks && self.networks.as_ref().is_none_or(comes_from) && self.certificate.as_ref().is_none_or(shows)
    }
}

/// The token stays in there.
impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("networks", &self.networks)
            .field("token", &self.token.is_some())
            .field("certificate", &self.certificate)
            .field("attributes", &self.attributes)
            .finish()
    }
}
