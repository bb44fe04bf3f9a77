//! Who the client is: from the connection's peer, and from forwarding headers as far as their writers are trusted.
//!
//! Every proxy appends the address that it was called from, so that the right end of the chain was written by the
//! nearest proxy and the left end by whoever pleased to. [`client_ip`] therefore walks from the peer to the left and
//! takes the first address that is not a trusted proxy's; [`network`] turns it into what a limit counts by.

mod chain;
#[cfg(test)]
mod tests;
mod trusted;

use std::net::IpAddr;

use http::HeaderMap;

pub use tidegate_core::network::{Prefixes, network};
pub use trusted::{Trusted, TrustedError};

/// The header that the trusted proxies write. The other one is never read: a client could have sent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Source {
    /// `X-Forwarded-For: 203.0.113.7, 10.0.0.2`.
    #[default]
    XForwardedFor,
    /// `Forwarded: for=203.0.113.7;proto=https, for="[2001:db8::1]:4711"` (RFC 7239).
    Forwarded,
}

/// The address of the client behind `peer`, in [`canonical`] form.
///
/// - A peer that is not trusted is the client, whatever it says in headers.
/// - Otherwise the client is the rightmost address of the chain that is not trusted, or the leftmost if all are.
/// - An entry that is not an address (`unknown`, `_hidden`, rubbish) ends the chain: nothing to its left can be
///   believed, so the hop to its right is the client.
///
/// At most the rightmost 64 hops and 8 KiB are looked at; the chain ends there too.
///
/// ```
/// use http::HeaderMap;
/// use tidegate_wire::client_ip::{Source, Trusted, client_ip};
///
/// let trusted = Trusted::parse(["10.0.0.0/8"])?;
/// let mut headers = HeaderMap::new();
/// headers.insert("x-forwarded-for", "198.51.100.1, 203.0.113.7, 10.0.0.2".parse()?);
///
/// let behind_proxies = client_ip("10.0.0.1".parse()?, &headers, &trusted, Source::XForwardedFor);
/// assert_eq!(behind_proxies.to_string(), "203.0.113.7"); // what stands left of it is hearsay
///
/// let direct = client_ip("192.0.2.1".parse()?, &headers, &trusted, Source::XForwardedFor);
/// assert_eq!(direct.to_string(), "192.0.2.1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn client_ip(peer: IpAddr, headers: &HeaderMap, trusted: &Trusted, source: Source) -> IpAddr {
    if trusted.contains(peer) { behind(peer, headers, trusted, source) } else { canonical(peer) }
}

/// The same behind a peer that is trusted whatever its address, because it has shown otherwise who it is.
pub fn behind(peer: IpAddr, headers: &HeaderMap, trusted: &Trusted, source: Source) -> IpAddr {
    let mut client = canonical(peer);
    for hop in chain::hops(headers, source) {
        client = canonical(hop);
        if !trusted.contains(client) {
            break;
        }
    }
    client
}

/// One form per address: IPv4-mapped IPv6 becomes the IPv4 address that it is, everything else stays.
///
/// Decided by bits, not by notation. NAT64 (`64:ff9b::/96`) and the old IPv4-compatible addresses are IPv6 addresses.
///
/// ```
/// use std::net::IpAddr;
/// use tidegate_wire::client_ip::canonical;
/// let canonical = |text: &str| text.parse::<IpAddr>().map(|ip| canonical(ip).to_string());
/// assert_eq!(canonical("::ffff:102:304")?, "1.2.3.4");
/// assert_eq!(canonical("64:ff9b::1.2.3.4")?, "64:ff9b::102:304");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
pub const fn canonical(ip: IpAddr) -> IpAddr {
    ip.to_canonical()
}
