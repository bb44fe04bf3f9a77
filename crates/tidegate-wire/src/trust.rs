//! Whose word counts for which attribute. What a caller claims without being trusted is left out, and counted.
//!
//! Some attributes decide whose counters are charged, or how much somebody may do: a client that could name its own address,
//! organisation or plan would have as many limits as it likes. A door therefore may guard them: they are taken from callers
//! that come from a trusted network, or show otherwise who they are.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use http::{Extensions, HeaderMap};

use crate::client_ip::{Source, Trusted, behind, canonical};

/// What proxies tell of a request that they ask about: the facts of forwarding headers.
pub const FORWARDED: [&str; 5] = ["ip", "method", "path", "host", "scheme"];

/// From where a request came, as its listener knows it: an extension of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its address, if the listener told it.
    pub address: Option<IpAddr>,
    /// Whether its word counts.
    pub trusted: bool,
}

/// What shows, otherwise than an address, that a caller is to be trusted: a token, for example.
pub type Proof = Arc<dyn Fn(&HeaderMap) -> bool + Send + Sync>;

/// Whose word counts at a door, and how often somebody's did not. Clones are the same. The default trusts everybody.
///
/// ```
/// use http::{Extensions, HeaderMap};
/// use tidegate_wire::{Trusted, trust::{Peer, Trust}};
///
/// let trust = Trust::only(Trusted::parse(["10.0.0.0/8"])?, None, ["org"]);
/// let from = |address: &str| {
///     let mut extensions = Extensions::new();
///     extensions.insert(Peer(address.parse().expect("an address")));
///     trust.caller(&extensions, &HeaderMap::new())
/// };
/// assert!(!trust.ignores(from("10.0.0.7:4711"), "org"));
/// assert!(trust.ignores(from("192.0.2.1:4711"), "org"));
/// assert!(!trust.ignores(from("192.0.2.1:4711"), "api_key"), "which is not guarded");
/// assert_eq!(trust.ignored().collect::<Vec<_>>(), [("org", 1)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Trust(Option<Arc<Policy>>);

struct Policy {
    peers: Trusted,
    proof: Option<Proof>,
    guarded: Vec<Guarded>,
}

/// An attribute that only trusted callers may state.
struct Guarded {
    attribute: Box<str>,
    ignored: AtomicU64,
}

impl Trust {
    /// Whatever is said counts, whoever says it.
    pub const fn everybody() -> Self {
        Self(None)
    }

    /// These attributes count if a peer in these networks states them, or somebody with that proof.
    pub fn only<A: AsRef<str>>(
        peers: Trusted,
        proof: Option<Proof>,
        attributes: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut guarded: Vec<Guarded> = Vec::new();
        for attribute in attributes {
            if !guarded.iter().any(|one| one.is(attribute.as_ref())) {
                guarded.push(Guarded { attribute: attribute.as_ref().into(), ignored: AtomicU64::new(0) });
            }
        }
        Self(Some(Arc::new(Policy { peers, proof, guarded })))
    }

    /// The same, and what forwarding headers tell besides.
    pub fn only_forwarded<A: AsRef<str>>(
        peers: Trusted,
        proof: Option<Proof>,
        attributes: impl IntoIterator<Item = A>,
    ) -> Self {
        let attributes: Vec<A> = attributes.into_iter().collect();
        Self::only(peers, proof, attributes.iter().map(AsRef::as_ref).chain(FORWARDED))
    }

    /// Who sent a request.
    pub fn caller(&self, extensions: &Extensions, headers: &HeaderMap) -> Caller {
        let address = extensions.get().map(|Peer(peer)| peer.ip());
        let Caller { address, trusted } = self.caller_at(address);
        Caller {
            address,
            trusted: trusted || self.0.as_ref().is_some_and(|policy| policy.is_proven(headers)),
        }
    }

    /// Who is at the other end of a connection that has nothing but an address to show.
    pub fn caller_at(&self, address: Option<IpAddr>) -> Caller {
        let address = address.map(canonical);
        let trusts = |policy: &Arc<Policy>| address.is_some_and(|address| policy.peers.contains(address));
        Caller { address, trusted: self.0.as_ref().is_none_or(trusts) }
    }

    /// Whether that attribute is left out if that caller states it. If it is, that is counted.
    pub fn ignores(&self, caller: Caller, attribute: &str) -> bool {
        let Some(policy) = self.0.as_ref().filter(|_| !caller.trusted) else { return false };
        let Some(guarded) = policy.guarded.iter().find(|guarded| guarded.is(attribute)) else { return false };
        guarded.ignored.fetch_add(1, Relaxed);
        true
    }

    /// Leaves out of what a caller states all that does not count.
    pub fn filter(&self, caller: Caller, stated: &mut Vec<(String, String)>) {
        if !caller.trusted {
            stated.retain(|(attribute, _)| !self.ignores(caller, attribute));
        }
    }

    /// The address of the client for whom a caller asks: as `X-Forwarded-For` says, as far as its writers are trusted.
    pub fn client(&self, caller: Caller, headers: &HeaderMap) -> Option<IpAddr> {
        let peer = caller.address?;
        match &self.0 {
            Some(policy) if caller.trusted => {
                Some(behind(peer, headers, &policy.peers, Source::XForwardedFor))
            }
            _ => Some(peer),
        }
    }

    /// The attributes that are guarded, and how often each was left out.
    pub fn ignored(&self) -> impl Iterator<Item = (&str, u64)> {
        let guarded = self.0.iter().flat_map(|policy| &policy.guarded);
        guarded.map(|guarded| (&*guarded.attribute, guarded.ignored.load(Relaxed)))
    }
}

impl Policy {
    fn is_proven(&self, headers: &HeaderMap) -> bool {
        self.proof.as_ref().is_some_and(|proof| proof(headers))
    }
}

impl Guarded {
    /// By all the names that rules know it by: Envoy has another for the address, and headers have no case.
    fn is(&self, name: &str) -> bool {
        match &*self.attribute {
            "ip" => matches!(name, "ip" | "remote_address"),
            header if header.starts_with("header.") => header.eq_ignore_ascii_case(name),
            attribute => attribute == name,
        }
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("everybody"),
            Some(policy) => f
                .debug_struct("Trust")
                .field("peers", &policy.peers)
                .field("proof", &policy.proof.is_some())
                .field("guarded", &self.ignored().collect::<Vec<_>>())
                .finish(),
        }
    }
}
