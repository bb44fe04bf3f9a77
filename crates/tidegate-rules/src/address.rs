//! Addresses as counters know them: an IPv4 address in IPv6's clothes is the IPv4 address, and those of one network are one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use smallvec::SmallVec;

/// How many leading bits of an address count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefixes {
    /// Of an IPv4 address.
    pub v4: u8,
    /// Of an IPv6 address.
    pub v6: u8,
}

impl Default for Prefixes {
    /// A whole IPv4 address, and the /64 that one IPv6 subscriber has at least.
    fn default() -> Self {
        Self { v4: 32, v6: 64 }
    }
}

/// An address as part of a key.
pub type AddressKey = SmallVec<[u8; 24]>;

impl Prefixes {
    /// The bytes that stand for an address in a key: the same for all of its network. What is no address stands for itself.
    pub fn key(self, value: &str) -> AddressKey {
        let mut key = AddressKey::new();
        match parse(value) {
            Some(IpAddr::V4(address)) => {
                key.push(4);
                key.extend_from_slice(&mask_v4(address, self.v4).octets());
            }
            Some(IpAddr::V6(address)) => {
                key.push(6);
                key.extend_from_slice(&mask_v6(address, self.v6).octets());
            }
            None => {
                key.push(0);
                key.extend_from_slice(value.as_bytes());
            }
        }
        key
    }
}

/// Reads an address, with a port or without; an IPv4-mapped one is the IPv4 address.
pub fn parse(value: &str) -> Option<IpAddr> {
    let address = value.parse::<IpAddr>().ok();
    let address = address.or_else(|| value.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.map(|address| address.to_canonical())
}

fn mask_v4(address: Ipv4Addr, bits: u8) -> Ipv4Addr {
    let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
    Ipv4Addr::from(u32::from(address) & mask)
}

fn mask_v6(address: Ipv6Addr, bits: u8) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
    Ipv6Addr::from(u128::from(address) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_is_one_client() {
        let key = |value| Prefixes::default().key(value);
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
        assert_eq!(key("192.0.2.1:4711"), key("192.0.2.1"), "a port makes no other client");
        assert_eq!(key("[2001:db8::1]:80"), key("2001:db8::2"));
        assert_eq!(
            Prefixes { v4: 24, v6: 48 }.key("192.0.2.1"),
            Prefixes { v4: 24, v6: 48 }.key("192.0.2.9")
        );
    }

    #[test]
    fn what_is_no_address_is_not_taken_for_one() {
        let key = |value| Prefixes::default().key(value);
        assert_ne!(key("abcd"), key("97.98.99.100"));
        assert_ne!(key("unknown"), key("unknown2"));
    }
}
