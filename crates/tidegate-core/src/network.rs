//! Addresses as counters know them: those of one network are one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How many leading bits of an address a limit counts by; more than there are means all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefixes {
    /// Of an IPv4 address; 32 by default.
    pub v4: u8,
    /// Of an IPv6 address; 64 by default, since one host commonly has a whole /64 to choose its addresses from.
    pub v6: u8,
}

impl Default for Prefixes {
    fn default() -> Self {
        Self { v4: 32, v6: 64 }
    }
}

/// The network that an address is counted under: only the leading bits are kept, and an IPv4-mapped IPv6 address is the
/// IPv4 address that it is.
///
/// ```
/// use tidegate_core::network::{Prefixes, network};
/// let ip = "2001:db8:1:2:3:4:5:6".parse()?;
/// assert_eq!(network(ip, Prefixes::default()).to_string(), "2001:db8:1:2::");
/// assert_eq!(network(ip, Prefixes { v6: 48, ..Prefixes::default() }).to_string(), "2001:db8:1::");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
pub fn network(ip: IpAddr, prefixes: Prefixes) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.unbounded_shl(u32::BITS.saturating_sub(prefixes.v4.into()));
            Ipv4Addr::from_bits(v4.to_bits() & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.unbounded_shl(u128::BITS.saturating_sub(prefixes.v6.into()));
            Ipv6Addr::from_bits(v6.to_bits() & mask).into()
        }
    }
}
