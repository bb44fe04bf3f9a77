//! What can be asked of one attribute.

use std::fmt;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

use super::Facts;
use crate::glob::Glob;
use crate::name::AttributeId;
use crate::number::Numbers;

/// A test of one attribute. All but [`Test::Absent`] fail if it is not there.
#[derive(Clone)]
pub enum Test {
    /// It is one of these.
    OneOf(Vec<Box<str>>),
    /// It begins with this.
    Prefix(Box<str>),
    /// A glob matches it.
    Glob(Glob),
    /// A regular expression matches the whole of it: make it with [`whole_value_regex`](super::whole_value_regex).
    Regex(regex::Regex),
    /// It is an address in one of these networks. IPv4-mapped IPv6 counts as IPv4, in addresses and networks alike.
    Cidr(Vec<IpNet>),
    /// It is one of these numbers.
    Number(Numbers),
    /// It is there, also if it is empty.
    Present,
    /// It is not there.
    Absent,
}

impl Test {
    /// Whether an attribute passes.
    #[inline]
    pub fn passes(&self, attribute: AttributeId, facts: &Facts<'_>) -> bool {
        match self {
            Self::OneOf(values) => {
                facts.get(attribute).is_some_and(|value| values.iter().any(|one| **one == *value))
            }
            _ => self.passes_unlisted(attribute, facts),
        }
    }

    fn passes_unlisted(&self, attribute: AttributeId, facts: &Facts<'_>) -> bool {
        match (self, facts.get(attribute)) {
            (Self::Absent, value) => value.is_none(),
            (_, None) => false,
            (Self::Present, Some(_)) => true,
            (Self::OneOf(values), Some(value)) => values.iter().any(|one| **one == *value),
            (Self::Prefix(prefix), Some(value)) => value.starts_with(&**prefix),
            (Self::Glob(glob), Some(value)) => glob.matches(value),
            (Self::Regex(regex), Some(value)) => regex.is_match(value),
            (Self::Number(numbers), Some(value)) => numbers.matches(value),
            (Self::Cidr(networks), Some(_)) => {
                facts.address(attribute).is_some_and(|address| within(networks, address))
            }
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::OneOf(_) => "OneOf",
            Self::Prefix(_) => "Prefix",
            Self::Glob(_) => "Glob",
            Self::Regex(_) => "Regex",
            Self::Cidr(_) => "Cidr",
            Self::Number(_) => "Number",
            Self::Present => "Present",
            Self::Absent => "Absent",
        }
    }
}

/// The kind only: what rules compare with may be a key or a token.
impl fmt::Debug for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

fn within(networks: &[IpNet], address: IpAddr) -> bool {
    networks.iter().any(|network| unmapped(*network).contains(&address))
}

/// `::ffff:10.0.0.0/104` as `10.0.0.0/8`: addresses are compared in canonical form.
pub(crate) fn unmapped(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else { return network };
    let (Some(length), Some(v4)) = (v6.prefix_len().checked_sub(96), v6.addr().to_ipv4_mapped()) else {
        return network;
    };
    Ipv4Net::new(v4, length).map_or(network, IpNet::V4)
}
