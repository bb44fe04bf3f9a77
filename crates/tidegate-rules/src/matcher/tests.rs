use proptest::prelude::*;

use super::*;
use crate::condition::{Test, whole_value_regex};
use crate::corpus;
use crate::glob::Glob;
use crate::name::{AttributeId, Names};
use crate::number::Numbers;

const VALUES: [&str; 19] = [
    "",
    "a",
    "b",
    "ab",
    "abc",
    "BC",
    "/",
    "/a",
    "/a/",
    "/a/b",
    "/a/b/c",
    "/b/a/c",
    "7",
    "30.5",
    "10.1.2.3",
    "::ffff:10.1.0.0",
    "2001:db8::7",
    "/a/Abc",
    "xABC",
];
const GLOBS: [&str; 17] = [
    "", "a", "/a/b", "*", "**", "/**", "/a/**", "/a/*", "/{x}/b", "/{x}", "a*", "*b*", "/**/c", "/a/**/c",
    "/*/a/*", "/b*/**", "**/Abc",
];
const EXPRESSIONS: [&str; 22] = [
    "a+",
    "/a/.*",
    "(a|b)+c",
    "(?i)AB",
    "[a-z]+",
    ".*b.*",
    "[ab]",
    "(?i)B.*",
    "(?i)[ab]C?",
    "[ab]{2}",
    "[a-c]*",
    r"\d+",
    "[/a]+",
    "[^a]*",
    ".",
    ".*",
    "a|b|/a",
    "/[ab]/[ab]",
    "(/a)?/b",
    "",
    "(?i)x?abc",
    ".*/Abc",
];
const NETWORKS: [&str; 9] = [
    "10.0.0.0/8",
    "10.1.0.0/16",
    "10.1.2.3/32",
    "0.0.0.0/0",
    "::/0",
    "2001:db8::/32",
    "::ffff:10.1.0.0/112",
    "10.1.2.3/8",
    "10.0.0.0/16",
];
const NUMBERS: [&str; 4] = ["< 30", "= 7", "!= 7", "7..31"];

/// A condition as a failing case prints it.
#[derive(Clone, Debug)]
enum Recipe {
    All(Vec<Recipe>),
    Any(Vec<Recipe>),
    Not(Box<Recipe>),
    Is(usize, Ask),
}

#[derive(Clone, Debug)]
enum Ask {
    OneOf(Vec<&'static str>),
    Prefix(&'static str),
    Glob(&'static str),
    Expression(&'static str),
    Cidr(Vec<&'static str>),
    Number(&'static str),
    Present,
    Absent,
}

fn ids() -> Vec<AttributeId> {
    let mut names = Names::new();
    ["path", "plan", "ip", "score"].map(|name| names.intern(name).unwrap()).to_vec()
}

impl Recipe {
    fn condition(&self) -> Condition {
        let all = |parts: &[Self]| parts.iter().map(Self::condition).collect();
        match self {
            Self::All(parts) => Condition::All(all(parts)),
            Self::Any(parts) => Condition::Any(all(parts)),
            Self::Not(part) => Condition::Not(Box::new(part.condition())),
            Self::Is(attribute, ask) => Condition::Is(ids()[*attribute], ask.test()),
        }
    }
}

impl Ask {
    fn test(&self) -> Test {
        match self {
            Self::OneOf(values) => Test::OneOf(values.iter().map(|value| (*value).into()).collect()),
            Self::Prefix(prefix) => Test::Prefix((*prefix).into()),
            Self::Glob(glob) => Test::Glob(Glob::parse(glob).unwrap()),
            Self::Expression(pattern) => Test::Regex(whole_value_regex(pattern).unwrap()),
            Self::Cidr(networks) => {
                Test::Cidr(networks.iter().map(|network| network.parse().unwrap()).collect())
            }
            Self::Number(numbers) => Test::Number(Numbers::parse(numbers).unwrap()),
            Self::Present => Test::Present,
            Self::Absent => Test::Absent,
        }
    }
}

fn an_ask() -> impl Strategy<Value = Ask> {
    let values = || prop::sample::select(&VALUES[..]);
    prop_oneof![
        prop::collection::vec(values(), 0..4).prop_map(Ask::OneOf),
        values().prop_map(Ask::Prefix),
        prop::sample::select(&GLOBS[..]).prop_map(Ask::Glob),
        prop::sample::select(&EXPRESSIONS[..]).prop_map(Ask::Expression),
        prop::collection::vec(prop::sample::select(&NETWORKS[..]), 0..3).prop_map(Ask::Cidr),
        prop::sample::select(&NUMBERS[..]).prop_map(Ask::Number),
        Just(Ask::Present),
        Just(Ask::Absent),
    ]
}

fn a_recipe() -> impl Strategy<Value = Recipe> {
    let leaf = (0..4_usize, an_ask()).prop_map(|(attribute, ask)| Recipe::Is(attribute, ask));
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 0..4).prop_map(Recipe::All),
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(Recipe::Any),
            1 => inner.prop_map(|part| Recipe::Not(Box::new(part))),
        ]
    })
}

fn some_facts() -> impl Strategy<Value = Vec<(usize, &'static str)>> {
    prop::collection::vec((0..4_usize, prop::sample::select(&VALUES[..])), 0..5)
}

fn facts_of(values: &[(usize, &'static str)]) -> Facts<'static> {
    let (ids, mut facts) = (ids(), Facts::new());
    for (attribute, value) in values {
        facts.set(ids[*attribute], value);
    }
    facts
}

fn matcher_of(recipes: &[Recipe]) -> Matcher {
    Matcher::new(recipes.iter().map(Recipe::condition).collect())
}

fn found(matcher: &Matcher, facts: &Facts<'_>) -> Vec<u32> {
    // Left over from another request: it must not show.
    let mut found = SmallVec::from_slice(&[99]);
    matcher.matches(facts, &mut found);
    found.to_vec()
}

fn asked_one_by_one(matcher: &Matcher, facts: &Facts<'_>) -> Vec<u32> {
    (0..)
        .zip(&matcher.conditions)
        .filter(|(_, condition)| condition.holds(facts))
        .map(|(rule, _)| rule)
        .collect()
}

proptest! {
    #[test]
    fn finds_what_asking_every_rule_finds(
        recipes in prop::collection::vec(a_recipe(), 0..24),
        requests in prop::collection::vec(some_facts(), 1..12),
    ) {
        let matcher = matcher_of(&recipes);
        for request in requests {
            let facts = facts_of(&request);
            prop_assert_eq!(found(&matcher, &facts), asked_one_by_one(&matcher, &facts), "{:?}", request);
        }
    }

    #[test]
    fn single_tests_of_one_attribute_find_what_asking_each_finds(
        asks in prop::collection::vec(an_ask(), 20..80),
        value in prop::sample::select(&VALUES[..]),
    ) {
        let matcher = matcher_of(&asks.into_iter().map(|ask| Recipe::Is(0, ask)).collect::<Vec<_>>());
        for facts in [facts_of(&[(0, value)]), facts_of(&[])] {
            prop_assert_eq!(found(&matcher, &facts), asked_one_by_one(&matcher, &facts));
        }
    }
}

proptest! {
    #[test]
    fn several_values_at_once_find_what_asking_each_finds(
        rules in prop::collection::vec(prop::collection::vec((0..4_usize, prop::sample::select(&VALUES[..])), 1..5), 1..12),
        requests in prop::collection::vec(some_facts(), 1..12),
    ) {
        let rule = |parts: Vec<(usize, &'static str)>| {
            Recipe::All(parts.into_iter().map(|(name, value)| is(name, Ask::OneOf(vec![value]))).collect())
        };
        let matcher = matcher_of(&rules.into_iter().map(rule).collect::<Vec<_>>());
        for request in requests {
            let facts = facts_of(&request);
            prop_assert_eq!(found(&matcher, &facts), asked_one_by_one(&matcher, &facts), "{:?}", request);
        }
    }
}

fn is(attribute: usize, ask: Ask) -> Recipe {
    Recipe::Is(attribute, ask)
}

#[test]
fn only_what_has_no_pivot_is_always_asked() {
    let not = |recipe| Recipe::Not(Box::new(recipe));
    let free = || is(1, Ask::OneOf(vec!["a"]));
    let count = |recipe: Recipe| matcher_of(&[recipe]).always_asked();
    assert_eq!(count(Recipe::All(vec![])), 0, "there is nothing to ask");
    assert_eq!(count(not(free())), 1);
    assert_eq!(count(Recipe::Any(vec![free(), not(free())])), 1);
    assert_eq!(count(Recipe::All(vec![not(free()), is(0, Ask::Glob("/a/**"))])), 0);
    assert_eq!(count(Recipe::Any(vec![free(), is(0, Ask::Glob("/a/**"))])), 0);
    assert_eq!(count(not(is(0, Ask::Present))), 0);
    assert_eq!(count(not(Recipe::Any(vec![free(), is(0, Ask::Absent)]))), 0);
}

#[test]
fn a_rule_that_is_found_twice_is_told_once() {
    let networks = is(2, Ask::Cidr(vec!["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32"]));
    let either = Recipe::Any(vec![is(0, Ask::Prefix("/a")), is(0, Ask::Glob("/a/**")), is(2, Ask::Present)]);
    let matcher = matcher_of(&[networks, either]);
    assert_eq!(found(&matcher, &facts_of(&[(0, "/a/b"), (2, "10.1.2.3")])), [0, 1]);
}

#[test]
fn values_of_any_length_are_matched() {
    let matcher =
        matcher_of(&[is(0, Ask::Glob("/a/**")), is(0, Ask::Expression(".*b.*")), is(0, Ask::Prefix("/a"))]);
    let long = "/a".repeat(100_000);
    let mut facts = Facts::new();
    facts.set(ids()[0], &long);
    assert_eq!(found(&matcher, &facts), [0, 2]);
}

#[test]
fn nothing_is_allocated_for_a_few_matches() {
    let rules = [
        is(0, Ask::Glob("/a/**")),
        is(0, Ask::Expression("/a/.*")),
        is(0, Ask::Expression("[/a]+.*")),
        is(0, Ask::Prefix("/a")),
        is(1, Ask::OneOf(vec!["a", "b"])),
        is(2, Ask::Cidr(vec!["10.0.0.0/8"])),
        Recipe::Not(Box::new(is(3, Ask::Number("< 30")))),
    ];
    let matcher = matcher_of(&rules);
    let ids = ids();
    let mut found = SmallVec::new();
    let mut check = || {
        let mut facts = Facts::new();
        for (id, value) in [(0, "/a/b"), (1, "a"), (2, "10.1.2.3"), (3, "30.5")] {
            facts.set(ids[id], value);
        }
        matcher.matches(&facts, &mut found);
    };
    // Regular expressions make their scratch space when first used.
    check();
    let counted = allocation_counter::measure(&mut check);
    assert_eq!((counted.count_total, found.as_slice()), (0, &[0, 1, 2, 3, 4, 5, 6][..]));
}

#[test]
fn nothing_that_rules_compare_with_is_printed() {
    assert_eq!(
        format!("{:?}", matcher_of(&[is(0, Ask::OneOf(vec!["secret"]))])),
        "Matcher { rules: 1, always_asked: 0, .. }"
    );
}

#[test]
fn ten_thousand_rules_ask_few_more_than_ten() {
    let asked = |count| {
        let matcher = Matcher::new(corpus::rules(count));
        let ask = |request: &corpus::Request| {
            let (facts, mut found) = (request.facts(), SmallVec::new());
            let mut hits = Hits::new((&matcher.conditions, &matcher.equals), &facts, &mut found);
            hits.take(&matcher.always);
            matcher.index.look_up(&mut hits);
            hits.asked
        };
        corpus::requests(64).iter().map(ask).sum::<usize>()
    };
    let (ten, ten_thousand) = (asked(10), asked(10_000));
    // 64 requests: one and a half more rules each, most of which match.
    assert!(ten_thousand < ten + 96, "{ten_thousand} and {ten}");
}
