use proptest::prelude::*;

use super::*;
use crate::name::Names;

const VALUES: [Option<&str>; 8] =
    [None, Some(""), Some("/"), Some("/v1"), Some("/v1/x"), Some("/v1/x/y"), Some("/v2"), Some("/v2/x")];

fn attribute(name: &str) -> AttributeId {
    let mut names = Names::new();
    let known = ["path", "method"].map(|name| names.intern(name).unwrap());
    if name == "path" { known[0] } else { known[1] }
}

fn path(test: Test) -> Condition {
    Condition::Is(attribute("path"), test)
}

fn method(words: &[&str]) -> Condition {
    Condition::Is(attribute("method"), one_of(words))
}

fn one_of(words: &[&str]) -> Test {
    Test::OneOf(words.iter().map(|word| (*word).into()).collect())
}

fn glob(text: &str) -> Test {
    Test::Glob(Glob::parse(text).unwrap())
}

fn check(one: &Condition, other: &Condition, expected: bool) {
    assert_eq!(exclude(one, other), expected, "{one:?} {other:?}");
    assert_eq!(exclude(other, one), expected, "{other:?} {one:?}");
}

#[test]
fn values_beginnings_and_absence_exclude() {
    check(&method(&["GET", "HEAD"]), &method(&["POST"]), true);
    check(&method(&["GET", "HEAD"]), &method(&["POST", "GET"]), false);
    check(&path(Test::Absent), &path(Test::Present), true);
    check(&path(one_of(&["/v1/x"])), &path(glob("/v2/**")), true);
    check(&path(one_of(&["/v1/x"])), &path(glob("/v1/**")), false);
    check(&path(Test::Prefix("/v1/a".into())), &path(Test::Prefix("/v1/b".into())), true);
    check(&path(Test::Prefix("/v1".into())), &path(Test::Prefix("/v1/b".into())), false);
    check(&path(glob("/v1/orders/**")), &path(glob("/v1/users/**")), true);
    check(&path(glob("/v1/orders/**")), &path(glob("/*/orders/7")), false);
    check(&path(glob("/**/orders")), &path(glob("/v1/users")), false);
    check(&method(&["GET"]), &path(one_of(&["POST"])), false);
}

#[test]
fn one_part_of_all_is_enough_and_every_branch_of_any_is_needed() {
    let (get, post) = (method(&["GET"]), method(&["POST"]));
    let (orders, users) = (path(glob("/orders")), path(glob("/users")));
    let all = |parts: [&Condition; 2]| Condition::All(parts.map(Clone::clone).to_vec());
    let any = |parts: [&Condition; 2]| Condition::Any(parts.map(Clone::clone).to_vec());
    check(&all([&get, &orders]), &all([&get, &users]), true);
    check(&all([&get, &orders]), &all([&get, &orders]), false);
    check(&any([&get, &orders]), &post, false);
    check(&any([&get, &method(&["PUT"])]), &post, true);
    check(&all([&get, &orders]), &any([&post, &users]), true);
    check(&Condition::Not(Box::new(get.clone())), &get, true);
    check(&Condition::Not(Box::new(get.clone())), &post, false);
    check(&Condition::All(Vec::new()), &get, false);
}

fn any_test() -> impl Strategy<Value = Test> {
    let words = || prop::sample::select(VALUES.iter().flatten().copied().collect::<Vec<_>>());
    prop_oneof![
        prop::collection::vec(words(), 1..3).prop_map(|words| one_of(&words)),
        words().prop_map(|word| Test::Prefix(word.into())),
        prop::sample::select(vec!["/v1/*", "/v1/**", "/**", "/v2/{id}", "/v2", "/*/x", "/v1/x/**"])
            .prop_map(glob),
        Just(Test::Present),
        Just(Test::Absent),
    ]
}

fn any_condition() -> impl Strategy<Value = Condition> {
    let leaf = (any_test(), any::<bool>())
        .prop_map(|(test, is_path)| Condition::Is(attribute(if is_path { "path" } else { "method" }), test));
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Condition::All),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Condition::Any),
            inner.prop_map(|part| Condition::Not(Box::new(part))),
        ]
    })
}

proptest! {
    #[test]
    fn it_never_says_yes_where_a_request_meets_both(one in any_condition(), other in any_condition()) {
        let said = exclude(&one, &other);
        for (path, method) in VALUES.iter().flat_map(|path| VALUES.map(|method| (*path, method))) {
            let mut facts = Facts::new();
            for (name, value) in [("path", path), ("method", method)] {
                if let Some(value) = value {
                    facts.set(attribute(name), value);
                }
            }
            prop_assert!(!said || !one.holds(&facts) || !other.holds(&facts), "{one:?} {other:?}");
        }
    }
}
