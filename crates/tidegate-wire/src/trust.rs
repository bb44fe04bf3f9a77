//! Whose word counts for which attribute. What a caller claims without being trusted is left out, and counted.
//!
//! Some attributes decide whose counters are charged, or how much somebody may do: a client that could name its own address,
//! organisation or plan would have as many limits as it likes. A door therefore may guard them: they are taken from callers
//! that show who they are, by the network they come from, a token, a certificate, or several of these ([`Grant`]). What a
//! connection shows is looked at once; only tokens that come with requests are looked at with each.

mod grant;
mod peer;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::client_ip::{Source, Trusted, behind, canonical};

pub use grant::{Grant, Proof, Shown};
pub use peer::{Certificate, Peer};

/// What proxies tell of a request that they ask about: the facts of forwarding headers.
pub const FORWARDED: [&str; 5] = ["ip", "method", "path", "host", "scheme"];

/// The most callers whose claims did not count that are remembered by their address.
pub const MAX_IGNORED_PEERS: usize = 20;

/// Where a token stands if `Authorization` is the client's own.
pub const X_TIDEGATE_TOKEN: HeaderName = HeaderName::from_static("x-tidegate-token");

/// Whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its address, if the listener told it.
    pub address: Option<IpAddr>,
    may: May,
}

/// Which of the guarded attributes somebody may state, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct May(u64);

/// Whose word counts at a door, and how often somebody's did not. Clones are the same. The default trusts everybody.
///
/// ```
/// use http::HeaderMap;
/// use tidegate_wire::{Trusted, trust::{Grant, Peer, Trust}};
///
/// let gateways = Grant::to_networks(Trusted::parse(["10.0.0.0/8"])?);
/// let proxies = Grant { attributes: Some(vec!["ip".into()]), ..Grant::to_networks(Trusted::parse(["192.0.2.1"])?) };
/// let trust = Trust::only(vec![gateways, proxies], ["org", "ip"]);
/// let from = |address: &str| {
///     let peer = Peer::at(address.parse().expect("an address"));
///     trust.caller(Some(&peer), &HeaderMap::new())
/// };
/// assert!(!trust.ignores(from("10.0.0.7:4711"), "org"));
/// assert!(!trust.ignores(from("192.0.2.1:4711"), "ip"));
/// assert!(trust.ignores(from("192.0.2.1:4711"), "org"));
/// assert!(!trust.ignores(from("192.0.2.2:4711"), "api_key"), "which is not guarded");
/// assert_eq!(trust.ignored().collect::<Vec<_>>(), [("org", 1), ("ip", 0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Trust(Option<Arc<Policy>>);

struct Policy {
    grants: Vec<(Grant, May)>,
    /// Networks whose word counts for addresses, whatever else it shows: of a proxy further away nothing else can be seen.
    proxies: Trusted,
    guarded: Vec<Guarded>,
    /// Callers whose claims did not count, for the log.
    ignored_peers: Mutex<Vec<IpAddr>>,
    /// Where a connection remembers what it may state.
    place: usize,
}

/// An attribute that only trusted callers may state.
struct Guarded {
    attribute: Box<str>,
    ignored: AtomicU64,
}

impl Caller {
    /// Whether all of its words count.
    pub fn is_trusted(&self) -> bool {
        self.may == May::ALL
    }
}

impl May {
    const ALL: Self = Self(u64::MAX);
    const NOTHING: Self = Self(0);

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn covers(self, index: usize) -> bool {
        index < 64 && self.0 & (1 << index) != 0
    }
}

impl Trust {
    /// Whatever is said counts, whoever says it.
    pub const fn everybody() -> Self {
        Self(None)
    }

    /// These attributes count if somebody states them to whom that is granted. Those beyond the sixty-fourth count only for
    /// those to whom everything is.
    pub fn only<A: AsRef<str>>(grants: Vec<Grant>, attributes: impl IntoIterator<Item = A>) -> Self {
        Self::with(grants, attributes, 0)
    }

    /// The same, and what forwarding headers tell besides.
    pub fn only_forwarded<A: AsRef<str>>(
        grants: Vec<Grant>,
        attributes: impl IntoIterator<Item = A>,
    ) -> Self {
        let attributes: Vec<A> = attributes.into_iter().collect();
        Self::with(grants, attributes.iter().map(AsRef::as_ref).chain(FORWARDED), 1)
    }

    fn with<A: AsRef<str>>(
        grants: Vec<Grant>,
        attributes: impl IntoIterator<Item = A>,
        place: usize,
    ) -> Self {
        let mut guarded: Vec<Guarded> = Vec::new();
        for attribute in attributes {
            if !guarded.iter().any(|one| one.is(attribute.as_ref())) {
                guarded.push(Guarded { attribute: attribute.as_ref().into(), ignored: AtomicU64::new(0) });
            }
        }
        let ip = guarded.iter().position(|one| one.is("ip"));
        let grants: Vec<_> = grants.into_iter().map(|grant| (may(&grant, &guarded), grant)).collect();
        let tell_addresses = grants.iter().filter(|(may, _)| ip.is_some_and(|ip| may.covers(ip)));
        let proxies = Trusted::all(tell_addresses.filter_map(|(_, grant)| grant.by_network_alone()));
        let grants = grants.into_iter().map(|(may, grant)| (grant, may)).collect();
        Self(Some(Arc::new(Policy { grants, proxies, guarded, ignored_peers: Mutex::default(), place })))
    }

    /// Who sent a request.
    pub fn caller(&self, peer: Option<&Peer>, headers: &HeaderMap) -> Caller {
        let caller = self.caller_at(peer);
        match &self.0 {
            Some(policy) if caller.may != May::ALL => {
                let said = |name: HeaderName| headers.get(name).map(HeaderValue::as_bytes);
                let words = [said(AUTHORIZATION).and_then(bearer), said(X_TIDEGATE_TOKEN)];
                let by_words = words.into_iter().flatten().map(|word| policy.by_word(peer, word));
                Caller { may: by_words.fold(caller.may, May::and), ..caller }
            }
            _ => caller,
        }
    }

    /// Who is at the other end of a connection, before it has said anything.
    pub fn caller_at(&self, peer: Option<&Peer>) -> Caller {
        let address = peer.map(|peer| canonical(peer.address().ip()));
        let may = match (&self.0, peer) {
            (None, _) => May::ALL,
            (Some(policy), None) => policy.by_connection(None),
            (Some(policy), Some(peer)) => {
                May(peer.standing(policy.place, || policy.by_connection(Some(peer)).0))
            }
        };
        Caller { address, may }
    }

    /// The same once it has said a word that is the token of some grant; `None` if it is of none.
    pub fn caller_with(&self, peer: Option<&Peer>, word: &[u8]) -> Option<Caller> {
        let granted = self.0.as_ref()?.by_word(peer, word);
        let caller = self.caller_at(peer);
        (granted != May::NOTHING).then(|| Caller { may: caller.may.and(granted), ..caller })
    }

    /// Whether some word makes somebody trusted.
    pub fn knows_tokens(&self) -> bool {
        self.0.as_ref().is_some_and(|policy| policy.grants.iter().any(|(grant, _)| grant.token.is_some()))
    }

    /// Whether that attribute is left out if that caller states it. If it is, that is counted.
    pub fn ignores(&self, caller: Caller, attribute: &str) -> bool {
        let Some(policy) = self.0.as_ref().filter(|_| !caller.is_trusted()) else { return false };
        let mut guarded = policy.guarded.iter().enumerate();
        let Some((index, guarded)) = guarded.find(|(_, guarded)| guarded.is(attribute)) else { return false };
        if caller.may.covers(index) {
            return false;
        }
        guarded.ignored.fetch_add(1, Relaxed);
        policy.note_ignored(caller.address);
        true
    }

    /// Leaves out of what a caller states all that does not count.
    pub fn filter(&self, caller: Caller, stated: &mut Vec<(String, String)>) {
        if !caller.is_trusted() {
            stated.retain(|(attribute, _)| !self.ignores(caller, attribute));
        }
    }

    /// The address of the client for whom a caller asks: as `X-Forwarded-For` says, as far as its writers are trusted.
    pub fn client(&self, caller: Caller, headers: &HeaderMap) -> Option<IpAddr> {
        let peer = caller.address?;
        match &self.0 {
            Some(policy) if policy.counts(caller, "ip") => {
                Some(behind(peer, headers, &policy.proxies, Source::XForwardedFor))
            }
            _ => Some(peer),
        }
    }

    /// The first callers whose claims did not count.
    pub fn ignored_peers(&self) -> Vec<IpAddr> {
        let Some(policy) = &self.0 else { return Vec::new() };
        policy.ignored_peers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The attributes that are guarded, and how often each was left out.
    pub fn ignored(&self) -> impl Iterator<Item = (&str, u64)> {
        let guarded = self.0.iter().flat_map(|policy| &policy.guarded);
        guarded.map(|guarded| (&*guarded.attribute, guarded.ignored.load(Relaxed)))
    }
}

impl Policy {
    /// What a connection may state by what it shows itself.
    fn by_connection(&self, peer: Option<&Peer>) -> May {
        let shown = self.grants.iter().filter(|(grant, _)| grant.token.is_none() && grant.is_met_by(peer));
        shown.fold(May::NOTHING, |may, (_, granted)| may.and(*granted))
    }

    /// What somebody may state who says that word.
    fn by_word(&self, peer: Option<&Peer>, word: &[u8]) -> May {
        let knows = |grant: &Grant| grant.token.as_ref().is_some_and(|token| token(word));
        let known = self.grants.iter().filter(|(grant, _)| knows(grant) && grant.is_met_by(peer));
        known.fold(May::NOTHING, |may, (_, granted)| may.and(*granted))
    }

    /// Remembers a caller. A busy lock is not waited for: the caller will claim something again.
    #[cold]
    fn note_ignored(&self, address: Option<IpAddr>) {
        let (Some(address), Ok(mut peers)) = (address, self.ignored_peers.try_lock()) else { return };
        if peers.len() < MAX_IGNORED_PEERS && !peers.contains(&address) {
            peers.push(address);
        }
    }

    fn counts(&self, caller: Caller, attribute: &str) -> bool {
        let index = self.guarded.iter().position(|guarded| guarded.is(attribute));
        index.is_none_or(|index| caller.may.covers(index))
    }
}

/// What a grant lets state.
fn may(grant: &Grant, guarded: &[Guarded]) -> May {
    let Some(attributes) = &grant.attributes else { return May::ALL };
    let index = |attribute: &String| guarded.iter().position(|one| one.is(attribute));
    let bits = attributes.iter().filter_map(index).filter(|index| *index < 64).map(|index| May(1 << index));
    bits.fold(May::NOTHING, May::and)
}

/// The word of `Authorization: Bearer …`.
fn bearer(authorization: &[u8]) -> Option<&[u8]> {
    let (scheme, word) = authorization.split_at_checked(b"Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(word)
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
                .field("grants", &policy.grants.iter().map(|(grant, _)| grant).collect::<Vec<_>>())
                .field("guarded", &self.ignored().collect::<Vec<_>>())
                .finish(),
        }
    }
}
