//! Addresses as rules read them, and as they stand in keys.

use std::net::{IpAddr, SocketAddr};

use smallvec::SmallVec;
use tidegate_core::network::{Prefixes, network};

/// An address as part of a key.
pub type AddressKey = SmallVec<[u8; 24]>;

/// The bytes that stand for an address in a key: the same for all of its network. What is no address stands for itself.
pub fn key(value: &str, prefixes: Prefixes) -> AddressKey {
    let mut key = AddressKey::new();
    match parse(value).map(|address| network(address, prefixes)) {
        Some(IpAddr::V4(address)) => {
            key.push(4);
            key.extend_from_slice(&address.octets());
        }
        Some(IpAddr::V6(address)) => {
            key.push(6);
            key.extend_from_slice(&address.octets());
        }
        None => {
            key.push(0);
            key.extend_from_slice(value.as_bytes());
        }
    }
    key
}

/// Reads an address, with a port or without; an IPv4-mapped one is the IPv4 address.
pub fn parse(value: &str) -> Option<IpAddr> {
    let address = value.parse::<IpAddr>().ok();
    let address = address.or_else(|| value.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_is_one_client() {
        let key = |value| key(value, Prefixes::default());
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
        assert_eq!(key("192.0.2.1:4711"), key("192.0.2.1"), "a port makes no other client");
        assert_eq!(key("[2001:db8::1]:80"), key("2001:db8::2"));
        let wide = Prefixes { v4: 24, v6: 48 };
        assert_eq!(super::key("192.0.2.1", wide), super::key("192.0.2.9", wide));
    }

    #[test]
    fn what_is_no_address_is_not_taken_for_one() {
        let key = |value| key(value, Prefixes::default());
        assert_ne!(key("abcd"), key("97.98.99.100"));
        assert_ne!(key("unknown"), key("unknown2"));
    }
}
