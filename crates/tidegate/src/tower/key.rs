//! What requests are counted by.

use std::net::IpAddr;

use http::{Extensions, HeaderMap, HeaderName, Method, Request, Uri};
use smallvec::SmallVec;
use tidegate_wire::client_ip::{Prefixes, Source, Trusted, canonical, client_ip as read_client_ip, network};

/// The bytes of a key.
pub type KeyBytes = SmallVec<[u8; 64]>;

/// Everything of a request but its body.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Head<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target.
    pub uri: &'a Uri,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// What servers and other layers know of the request, such as the address of the peer.
    pub extensions: &'a Extensions,
}

impl<'a, B> From<&'a Request<B>> for Head<'a> {
    fn from(request: &'a Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }
}

/// Takes the key of a rule from a request.
pub trait KeyOf: Send + Sync + 'static {
    /// Appends the key to `out`; false if the request has none.
    fn key(&self, head: &Head<'_>, out: &mut KeyBytes) -> bool;
}

/// By whatever a function makes of the request; `None` if it has no key.
///
/// ```
/// use tidegate::tower::key;
/// let by_method = key::from_fn(|head| Some(head.method.to_string()));
/// # let _: Box<dyn key::KeyOf> = Box::new(by_method);
/// ```
pub fn from_fn<T: AsRef<[u8]>>(
    function: impl Fn(&Head<'_>) -> Option<T> + Send + Sync + 'static,
) -> impl KeyOf {
    FromFn(move |head: &Head<'_>, out: &mut KeyBytes| match function(head) {
        Some(key) => {
            out.extend_from_slice(key.as_ref());
            true
        }
        None => false,
    })
}

/// One counter for all requests.
pub fn everyone() -> impl KeyOf {
    FromFn(|_: &Head<'_>, _: &mut KeyBytes| true)
}

/// By a header's value, the first if there are several: an API key, a user that a trusted proxy names.
pub fn header(name: HeaderName) -> impl KeyOf {
    FromFn(move |head: &Head<'_>, out: &mut KeyBytes| {
        let value = head.headers.get(&name);
        out.extend_from_slice(value.map_or(&[], |value| value.as_bytes()));
        value.is_some()
    })
}

/// By the path, without the query.
pub fn path() -> impl KeyOf {
    FromFn(|head: &Head<'_>, out: &mut KeyBytes| {
        out.extend_from_slice(head.uri.path().as_bytes());
        true
    })
}

/// By the address at the other end of the connection: IPv4 whole, IPv6 by /64. `peer` finds it among the extensions,
/// where the server put it; for axum `|extensions| extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())`.
pub fn peer_ip(peer: impl Fn(&Extensions) -> Option<IpAddr> + Send + Sync + 'static) -> impl KeyOf {
    client_ip(peer, ClientIp::default())
}

/// By the client's address, behind proxies that are trusted to tell it.
pub fn client_ip(
    peer: impl Fn(&Extensions) -> Option<IpAddr> + Send + Sync + 'static,
    settings: ClientIp,
) -> impl KeyOf {
    from_fn(move |head| {
        let client = read_client_ip(peer(head.extensions)?, head.headers, &settings.trusted, settings.source);
        Some(octets(network(client, settings.prefixes)))
    })
}

/// By two keys together: a user on a path, say. Missing if either is.
pub fn both(first: impl KeyOf, second: impl KeyOf) -> impl KeyOf {
    FromFn(move |head: &Head<'_>, out: &mut KeyBytes| {
        let start = out.len();
        if !first.key(head, out) {
            return false;
        }
        // The first part's length goes behind it, so that no two pairs look the same.
        let length = (out.len() - start) as u64;
        let found = second.key(head, out);
        out.extend_from_slice(&length.to_be_bytes());
        found
    })
}

/// Whose word is believed on where a request comes from.
#[derive(Clone, Debug, Default)]
pub struct ClientIp {
    /// The proxies in front of us. Empty: the peer is the client, and headers are ignored.
    pub trusted: Trusted,
    /// The header that they write. Only this one is read.
    pub source: Source,
    /// How much of an address is one client: IPv4 /32 and IPv6 /64 by default.
    pub prefixes: Prefixes,
}

struct FromFn<F>(F);

impl<F: Fn(&Head<'_>, &mut KeyBytes) -> bool + Send + Sync + 'static> KeyOf for FromFn<F> {
    fn key(&self, head: &Head<'_>, out: &mut KeyBytes) -> bool {
        (self.0)(head, out)
    }
}

fn octets(ip: IpAddr) -> SmallVec<[u8; 16]> {
    match canonical(ip) {
        IpAddr::V4(v4) => SmallVec::from_slice(&v4.octets()),
        IpAddr::V6(v6) => SmallVec::from_slice(&v6.octets()),
    }
}
