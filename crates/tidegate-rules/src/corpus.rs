//! Rules and requests from a seed, for tests and benchmarks of matching. No part of the interface.
//!
//! Of every twenty rules fourteen compare values, three are globs, one is of networks, one a regular expression, and one has
//! `not` or `absent`. The first ten are general and know all of these; the others are about one tenant, key, user or endpoint
//! out of [`CROWD`]. So a smaller corpus is the beginning of a larger one, and requests match about as many rules in both.

mod random;
mod rule;

use crate::condition::{Condition, Facts, Test};
use crate::name::{AttributeId, Names};
use random::Random;

/// How many tenants, keys, users and endpoints there are of each.
pub const CROWD: u64 = 10_000;

const SEED: u64 = 20_261_115;

/// The attributes that every request of the corpus has.
#[derive(Clone, Copy)]
struct Attributes {
    method: AttributeId,
    path: AttributeId,
    api_key: AttributeId,
    org: AttributeId,
    ip: AttributeId,
    plan: AttributeId,
    user: AttributeId,
    client: AttributeId,
}

impl Attributes {
    fn new() -> Self {
        let mut names = Names::new();
        let mut id = |name| names.intern(name).expect("eight names have numbers");
        Self {
            method: id("method"),
            path: id("path"),
            api_key: id("api_key"),
            org: id("org"),
            ip: id("ip"),
            plan: id("plan"),
            user: id("user"),
            client: id("header.x-client"),
        }
    }
}

/// The values of one request.
pub struct Request(Vec<(AttributeId, String)>);

impl Request {
    /// Its values as facts.
    pub fn facts(&self) -> Facts<'_> {
        let mut facts = Facts::new();
        self.tell(&mut facts);
        facts
    }

    /// Its values in place of those that were there.
    pub fn tell<'v>(&'v self, facts: &mut Facts<'v>) {
        facts.clear();
        for (attribute, value) in &self.0 {
            facts.set(*attribute, value);
        }
    }
}

/// The first so many rules.
pub fn rules(count: usize) -> Vec<Condition> {
    let (attributes, mut random) = (Attributes::new(), Random::new(SEED));
    (0..count).map(|place| rule::at(place, &attributes, &mut random)).collect()
}

/// So many requests of the crowd: each matches at least one of the first ten rules, and many have rules of their own
/// further on.
pub fn requests(count: usize) -> Vec<Request> {
    matching(count, Origin { first: 0, networks: [10, 172, 203] })
}

/// So many requests from outside of the crowd: each matches at least one of the first ten rules, and no other.
pub fn strangers(count: usize) -> Vec<Request> {
    matching(count, Origin { first: CROWD, networks: [192, 198, 203] })
}

/// Who asks: numbers from the first on, in these networks.
#[derive(Clone, Copy)]
struct Origin {
    first: u64,
    networks: [u8; 3],
}

fn matching(count: usize, origin: Origin) -> Vec<Request> {
    let (attributes, mut random, small) = (Attributes::new(), Random::new(SEED + 1), rules(10));
    let made = std::iter::repeat_with(|| request(&attributes, origin, &mut random));
    made.filter(|request| small.iter().any(|rule| rule.holds(&request.facts()))).take(count).collect()
}

/// So many rules without a pivot, each of which holds for nearly every request.
pub fn negations(count: u64) -> Vec<Condition> {
    let org = Attributes::new().org;
    let not = |number| Condition::Not(Box::new(rule::is(org, &rule::org(number))));
    (0..count).map(not).collect()
}

/// So many rules without a pivot, none of which holds for any request of the corpus.
pub fn vain_negations(count: u64) -> Vec<Condition> {
    let path = Attributes::new().path;
    let not = || Condition::Not(Box::new(Condition::Is(path, Test::Prefix("/v1/".into()))));
    (0..count).map(|_| not()).collect()
}

/// So many rules that all hold for every request, and are found by their pivot.
pub fn prefixes(count: u64) -> Vec<Condition> {
    let path = Attributes::new().path;
    (0..count).map(|_| Condition::Is(path, Test::Prefix("/".into()))).collect()
}

/// So many regular expressions without literal text to find them by.
pub fn expressions(count: u64) -> Vec<Condition> {
    let user = Attributes::new().user;
    let shape = |number: u64| format!("[a-z]+[^a-z][0-9]{{{}}}[0-4]{{{}}}.[a-f]?", number / 16, number % 16);
    (0..count).map(|number| Condition::Is(user, rule::regex(&shape(number)))).collect()
}

fn request(attributes: &Attributes, origin: Origin, random: &mut Random) -> Request {
    let mut someone = || origin.first + random.below(CROWD);
    let (number, key, org, user, client) = (someone(), someone(), someone(), someone(), someone());
    let path = match random.below(6) {
        0 => format!("/v1/orders/{number}/items/{}", random.below(9)),
        1 => format!("/v1/search/things-{number}"),
        2 => format!("/v1/reports/2026/{}", random.below(12)),
        3 => format!("/v1/tenants/t-{number}/members"),
        4 => format!("/v1/{}-{number}/list", random.pick(&rule::RESOURCES)),
        _ => format!("/v1/users/{number}/profile"),
    };
    let ip = format!(
        "{}.{}.{}.{}",
        random.pick(&origin.networks),
        random.below(256),
        random.below(256),
        random.below(256)
    );
    Request(vec![
        (attributes.method, (*random.pick(&["GET", "GET", "POST", "PUT", "DELETE"])).to_owned()),
        (attributes.path, path),
        (attributes.api_key, rule::key(key)),
        (attributes.org, rule::org(org)),
        (attributes.ip, ip),
        (attributes.plan, (*random.pick(&["free", "pro", "enterprise"])).to_owned()),
        (attributes.user, rule::user(user)),
        (attributes.client, format!("{}-{client}/2.1", random.pick(&["web", "ios", "curl"]))),
    ])
}

#[cfg(test)]
mod tests;
