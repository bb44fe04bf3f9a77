//! The proxies whose word is believed, as networks.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

use super::canonical;

/// The networks of the proxies whose forwarding headers are believed. The default trusts nobody.
///
/// ```
/// use tidegate_wire::Trusted;
/// let trusted = Trusted::parse(["10.0.0.0/8", "2001:db8::7"])?;
/// assert!(trusted.contains("10.1.2.3".parse()?));
/// assert!(trusted.contains("::ffff:10.1.2.3".parse()?)); // the same address, as a dual-stack socket shows it
/// assert!(!trusted.contains("2001:db8::8".parse()?));
///
/// let error = Trusted::parse(["10.0.0.1/8"]).unwrap_err();
/// assert!(error.to_string().ends_with("write 10.0.0.0/8 for the network or 10.0.0.1 for the one address"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusted {
    /// In order and apart from each other, so that an address is found by halving.
    networks: Vec<IpNet>,
}

/// Something that was written as a trusted proxy and is none; the message says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustedError {
    /// Neither an address nor a network.
    #[error(
        "`{written}` is neither an address nor a network; write one like 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32"
    )]
    NotANetwork {
        /// What was written.
        written: String,
    },
    /// A network whose address has bits beyond its prefix: it could be meant as either.
    #[error(
        "`{written}` could mean a network or one address; write {network} for the network or {address} for the \
             one address"
    )]
    Ambiguous {
        /// What was written.
        written: String,
        /// The network that it lies in.
        network: String,
        /// The address alone.
        address: IpAddr,
    },
}

impl Trusted {
    /// The networks and single addresses as an operator writes them; an empty list trusts nobody.
    ///
    /// IPv4-mapped networks are the IPv4 networks that they stand for. `0.0.0.0/0` and `::/0` believe every word: then
    /// the leftmost entry of the chain is the client, which anyone can choose.
    pub fn parse<S: AsRef<str>>(written: impl IntoIterator<Item = S>) -> Result<Self, TrustedError> {
        let networks =
            written.into_iter().map(|one| parse_one(one.as_ref())).collect::<Result<Vec<_>, _>>()?;
        let mut networks = IpNet::aggregate(&networks);
        networks.sort_unstable();
        Ok(Self { networks })
    }

    /// All networks of several.
    pub(crate) fn all<'t>(several: impl Iterator<Item = &'t Self>) -> Self {
        let networks: Vec<IpNet> = several.flat_map(|one| &one.networks).copied().collect();
        let mut networks = IpNet::aggregate(&networks);
        networks.sort_unstable();
        Self { networks }
    }

    /// Whether the address is a trusted proxy's.
    pub fn contains(&self, ip: IpAddr) -> bool {
        let ip = canonical(ip);
        let after = self.networks.partition_point(|network| network.network() <= ip);
        self.networks[..after].last().is_some_and(|network| network.contains(&ip))
    }
}

fn parse_one(written: &str) -> Result<IpNet, TrustedError> {
    let written = written.trim();
    if let Ok(address) = written.parse::<IpAddr>() {
        return Ok(canonical(address).into());
    }
    let network: IpNet =
        written.parse().map_err(|_| TrustedError::NotANetwork { written: written.to_owned() })?;
    if network.trunc() != network {
        return Err(TrustedError::Ambiguous {
            written: written.to_owned(),
            network: network.trunc().to_string(),
            address: network.addr(),
        });
    }
    Ok(unmapped(network))
}

/// `::ffff:10.0.0.0/104` as `10.0.0.0/8`: addresses are compared in canonical form.
fn unmapped(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else { return network };
    let (Some(prefix), Some(v4)) = (v6.prefix_len().checked_sub(96), v6.addr().to_ipv4_mapped()) else {
        return network;
    };
    Ipv4Net::new(v4, prefix).map_or(network, IpNet::V4)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(written: &[&str], address: &str, trusted: bool) {
        let set = Trusted::parse(written).unwrap();
        assert_eq!(set.contains(address.parse().unwrap()), trusted, "{address} in {written:?}");
    }

    #[test]
    fn trusts_what_is_written_and_nothing_else() {
        check(&[], "127.0.0.1", false);
        check(&["10.0.0.0/8"], "10.255.255.255", true);
        check(&["10.0.0.0/8"], "11.0.0.0", false);
        check(&["10.0.0.0/8"], "9.255.255.255", false);
        check(&["192.0.2.7"], "192.0.2.7", true);
        check(&["192.0.2.7"], "192.0.2.8", false);
        check(&[" 192.0.2.7 "], "192.0.2.7", true);
        check(&["2001:db8::/32"], "2001:db8:ffff::1", true);
        check(&["2001:db8::/32"], "10.0.0.1", false);
        check(&["10.0.0.0/8", "10.1.0.0/16", "::1"], "10.200.0.1", true);
    }

    #[test]
    fn mapped_addresses_and_networks_are_ipv4() {
        check(&["10.0.0.0/8"], "::ffff:10.0.0.1", true);
        check(&["10.0.0.0/8"], "::ffff:a00:1", true);
        check(&["::ffff:10.0.0.0/104"], "10.0.0.1", true);
        check(&["::ffff:10.0.0.0/104"], "11.0.0.1", false);
        check(&["::ffff:10.0.0.1"], "10.0.0.1", true);
        check(&["::/0"], "10.0.0.1", false);
        check(&["0.0.0.0/0"], "2001:db8::1", false);
    }

    #[test]
    fn says_what_to_write() {
        for rubbish in ["", "localhost", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/-1", "10.0.0.1:80", "::1/129"] {
            let error = Trusted::parse([rubbish]).unwrap_err();
            assert!(error.to_string().contains("write one like 192.0.2.7, 10.0.0.0/8"), "{error}");
        }
        assert_eq!(
            Trusted::parse(["10.0.0.0/8", "2001:db8::1/32"]).unwrap_err().to_string(),
            "`2001:db8::1/32` could mean a network or one address; write 2001:db8::/32 for the network or \
             2001:db8::1 for the one address"
        );
    }

    proptest! {
        #[test]
        fn finds_exactly_what_a_look_at_every_network_finds(
            v4 in prop::collection::vec((any::<u32>(), 0..=32_u8), 0..8),
            v6 in prop::collection::vec((any::<u128>(), 0..=128_u8), 0..8),
            offset in -2..3_i32,
            pick in any::<prop::sample::Index>(),
        ) {
            let v4 = v4.iter().map(|(bits, prefix)| IpNet::new(IpAddr::V4((*bits).into()), *prefix).unwrap());
            let v6 = v6.iter().map(|(bits, prefix)| IpNet::new(IpAddr::V6((*bits).into()), *prefix).unwrap());
            let networks: Vec<IpNet> = v4.chain(v6).map(|network| network.trunc()).collect();
            prop_assume!(!networks.is_empty());
            let written: Vec<String> = networks.iter().map(ToString::to_string).collect();
            let set = Trusted::parse(&written).unwrap();
            let network = pick.get(&networks);
            for edge in [network.network(), network.broadcast()] {
                let ip = near(edge, offset);
                let expected = networks.iter().any(|network| network.contains(&ip));
                prop_assert_eq!(set.contains(ip), expected, "{} in {:?}", ip, networks);
            }
        }
    }

    fn near(ip: IpAddr, offset: i32) -> IpAddr {
        match ip {
            IpAddr::V4(v4) => IpAddr::V4(v4.to_bits().wrapping_add_signed(offset).into()),
            IpAddr::V6(v6) => IpAddr::V6(v6.to_bits().wrapping_add_signed(offset.into()).into()),
        }
    }
}
