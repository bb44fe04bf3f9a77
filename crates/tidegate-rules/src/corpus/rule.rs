//! The rules of the corpus by their places.

use super::random::Random;
use super::{Attributes, CROWD};
use crate::condition::{Condition, Test, whole_value_regex};
use crate::glob::Glob;
use crate::name::AttributeId;

pub(super) const RESOURCES: [&str; 6] = ["orders", "invoices", "carts", "shipments", "images", "tickets"];

/// The kinds of twenty rules in a row; the first ten have all.
const KINDS: [Kind; 20] = {
    use Kind::{Cidr, Exact, Glob, Not, Regex};
    [
        Exact, Exact, Glob, Exact, Cidr, Exact, Exact, Regex, Exact, Not, //
        Exact, Exact, Glob, Exact, Exact, Exact, Exact, Glob, Exact, Exact,
    ]
};

#[derive(Clone, Copy)]
enum Kind {
    Exact,
    Glob,
    Cidr,
    Regex,
    Not,
}

/// The rule at a place.
pub(super) fn at(place: usize, attributes: &Attributes, random: &mut Random) -> Condition {
    if place < 10 {
        return general(place, attributes);
    }
    match KINDS[place % KINDS.len()] {
        Kind::Exact => exact(attributes, random),
        Kind::Glob => paths(attributes, random),
        Kind::Cidr => Condition::Is(attributes.ip, network(random)),
        Kind::Regex => expression(attributes, random),
        Kind::Not => negation(attributes, random),
    }
}

/// The first ten: what a small installation has.
fn general(place: usize, attributes: &Attributes) -> Condition {
    let Attributes { method, path, api_key, ip, plan, .. } = *attributes;
    match place {
        0 => is(plan, "free"),
        1 => is(api_key, &key(1)),
        2 => Condition::Is(path, glob("/v1/orders/**")),
        3 => Condition::All(vec![one_of(method, &["POST", "PUT", "DELETE"]), is(plan, "free")]),
        4 => Condition::Is(ip, Test::Cidr(vec!["10.0.0.0/8".parse().expect("it is a network")])),
        5 => is(attributes.org, &org(1)),
        6 => is(attributes.user, &user(1)),
        7 => Condition::Is(path, regex("/v[0-9]+/search/.*")),
        8 => Condition::All(vec![is(method, "GET"), is(plan, "pro")]),
        _ => Condition::All(vec![not(is(plan, "enterprise")), Condition::Is(path, glob("/v1/reports/**"))]),
    }
}

fn exact(attributes: &Attributes, random: &mut Random) -> Condition {
    let number = random.below(CROWD);
    match random.below(10) {
        0..3 => is(attributes.api_key, &key(number)),
        3..5 => Condition::All(vec![
            one_of(attributes.method, &["POST", "PUT"]),
            is(attributes.org, &org(number)),
        ]),
        5..7 => is(attributes.user, &user(number)),
        7..9 => {
            let path = format!("/v1/{}-{number}/list", random.pick(&RESOURCES));
            Condition::All(vec![is(attributes.method, "GET"), is(attributes.path, &path)])
        }
        _ => {
            let orgs = [number, random.below(CROWD), random.below(CROWD)].map(org);
            let orgs = one_of(attributes.org, &[&orgs[0], &orgs[1], &orgs[2]]);
            Condition::All(vec![is(attributes.plan, "free"), orgs])
        }
    }
}

fn paths(attributes: &Attributes, random: &mut Random) -> Condition {
    let (number, resource) = (random.below(CROWD), random.pick(&RESOURCES));
    let path = |text: String| Condition::Is(attributes.path, glob(&text));
    match random.below(4) {
        0 => Condition::All(vec![is(attributes.plan, "free"), path(format!("/v1/{resource}-{number}/**"))]),
        1 => path(format!("/v1/tenants/t-{number}/{{member}}")),
        2 => path(format!("/v1/*/{resource}-{number}/*")),
        _ => Condition::All(vec![is(attributes.method, "POST"), path(format!("/**/export-{number}"))]),
    }
}

/// Mostly parts of 10.0.0.0/8 and 172.0.0.0/8, many of them within others.
fn network(random: &mut Random) -> Test {
    let text = match random.below(4) {
        0 => format!("10.{}.0.0/16", random.below(256)),
        1 => format!("172.{}.{}.0/24", random.below(256), random.below(256)),
        2 => format!("2001:db8:{:x}::/48", random.below(65_536)),
        _ => format!("10.{}.{}.{}/28", random.below(256), random.below(256), random.below(16) * 16),
    };
    Test::Cidr(vec![text.parse().expect("it is a network")])
}

fn expression(attributes: &Attributes, random: &mut Random) -> Condition {
    let (number, resource) = (random.below(CROWD), random.pick(&RESOURCES));
    match random.below(3) {
        0 => Condition::Is(attributes.path, regex(&format!("/v[0-9]+/{resource}-{number}/[a-z]+"))),
        1 => Condition::Is(attributes.client, regex(&format!("(?i)(curl|wget)-{number}/.*"))),
        _ => Condition::Is(attributes.path, regex(&format!("/files/.*/{resource}-{number}\\.(zip|tar)"))),
    }
}

fn negation(attributes: &Attributes, random: &mut Random) -> Condition {
    let (number, resource) = (random.below(CROWD), random.pick(&RESOURCES));
    match random.below(4) {
        0 => Condition::All(vec![not(is(attributes.plan, "enterprise")), is(attributes.org, &org(number))]),
        1 => Condition::All(vec![
            Condition::Is(attributes.api_key, Test::Absent),
            Condition::Is(attributes.path, glob(&format!("/v1/{resource}-{number}/**"))),
        ]),
        2 => Condition::All(vec![
            not(one_of(attributes.method, &["GET", "HEAD"])),
            is(attributes.user, &user(number)),
        ]),
        _ => Condition::Is(attributes.user, Test::Absent),
    }
}

// Keys and names look alike and have the same length, as real ones do: no lookup is saved by a look at the length.

pub(super) fn key(number: u64) -> String {
    format!("key_{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

pub(super) fn org(number: u64) -> String {
    format!("org_{number:06}")
}

pub(super) fn user(number: u64) -> String {
    format!("user_{number:06}")
}

pub(super) fn is(attribute: AttributeId, value: &str) -> Condition {
    one_of(attribute, &[value])
}

fn one_of(attribute: AttributeId, values: &[&str]) -> Condition {
    Condition::Is(attribute, Test::OneOf(values.iter().map(|value| (*value).into()).collect()))
}

fn not(condition: Condition) -> Condition {
    Condition::Not(Box::new(condition))
}

fn glob(text: &str) -> Test {
    Test::Glob(Glob::parse(text).expect("it is a glob"))
}

pub(super) fn regex(pattern: &str) -> Test {
    Test::Regex(whole_value_regex(pattern).expect("it is a regular expression"))
}
