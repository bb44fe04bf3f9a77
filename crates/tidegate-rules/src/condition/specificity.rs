//! How narrow a condition is, as a number.

use ipnet::IpNet;

use super::{Condition, Test};

const ONE_VALUE: u32 = 1_000;
const SEVERAL_VALUES: u32 = 900;
const GLOB: u32 = 500;
const LITERAL_SEGMENT: u32 = 5;
const PREFIX: u32 = 400;
const NETWORK: u32 = 200;
const REGEX: u32 = 150;
const SOME: u32 = 100;
const NOT: u32 = 10;

pub(super) fn of(condition: &Condition) -> u32 {
    match condition {
        Condition::All(parts) => parts.iter().map(of).fold(0, u32::saturating_add),
        Condition::Any(parts) => parts.iter().map(of).min().unwrap_or(0),
        Condition::Not(_) => NOT,
        Condition::Is(_, test) => of_test(test),
    }
}

fn of_test(test: &Test) -> u32 {
    match test {
        Test::OneOf(values) if values.len() == 1 => ONE_VALUE,
        Test::OneOf(_) => SEVERAL_VALUES,
        Test::Glob(glob) if glob.is_literal() => ONE_VALUE,
        Test::Glob(glob) => GLOB + LITERAL_SEGMENT * small(glob.literal_segments()),
        Test::Prefix(prefix) => PREFIX + small(prefix.len().min(99)),
        Test::Cidr(networks) => NETWORK + networks.iter().map(of_network).min().unwrap_or(0),
        Test::Regex(_) => REGEX,
        Test::Number(_) | Test::Present | Test::Absent => SOME,
    }
}

/// From 0 for everything to 128 for one address.
fn of_network(network: &IpNet) -> u32 {
    let factor = 128 / u32::from(network.max_prefix_len());
    u32::from(network.prefix_len()) * factor
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
