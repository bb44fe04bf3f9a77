use super::*;
use crate::glob::Glob;
use crate::name::Names;
use crate::number::Numbers;

fn one_of(values: &[&str]) -> Test {
    Test::OneOf(values.iter().map(|value| (*value).into()).collect())
}

fn cidr(networks: &[&str]) -> Test {
    Test::Cidr(networks.iter().map(|network| network.parse().unwrap()).collect())
}

fn glob(text: &str) -> Test {
    Test::Glob(Glob::parse(text).unwrap())
}

fn regex(pattern: &str) -> Test {
    Test::Regex(whole_value_regex(pattern).unwrap())
}

fn check(test: &Test, passes: &[&str], fails: &[&str]) {
    let attribute = Names::new().intern("it").unwrap();
    let passed = |value| {
        let mut facts = Facts::new();
        facts.set(attribute, value);
        test.passes(attribute, &facts)
    };
    for value in passes {
        assert!(passed(value), "{test:?} passes {value:?}");
    }
    for value in fails {
        assert!(!passed(value), "{test:?} fails {value:?}");
    }
    assert_eq!(test.passes(attribute, &Facts::new()), matches!(test, Test::Absent));
}

#[test]
fn tests_ask_for_what_they_say() {
    check(&one_of(&["a", "b"]), &["a", "b"], &["", "ab", "A"]);
    check(&Test::Prefix("ab".into()), &["ab", "abc"], &["a", "ba"]);
    check(&glob("/a/*"), &["/a/b"], &["/a"]);
    check(&regex("a+|b"), &["aa", "b"], &["ab", "xb", "b\n"]);
    check(&Test::Number(Numbers::parse("< 30").unwrap()), &["3"], &["x", "30"]);
    check(&Test::Present, &["", "a"], &[]);
    check(&Test::Absent, &[], &["", "a"]);
}

#[test]
fn mapped_addresses_and_networks_are_ipv4() {
    check(
        &cidr(&["10.0.0.0/8", "2001:db8::/32"]),
        &["10.1.2.3", "::ffff:10.1.2.3", "2001:db8::1", "10.1.2.3:4711", "[2001:db8::1]:80"],
        &["11.0.0.0", "::1", "", "x", "11.0.0.0:80", "10.1.2.3:", "10.1.2.3:99999"],
    );
    check(&cidr(&["::ffff:10.0.0.0/104"]), &["10.1.2.3", "::ffff:a01:203"], &["11.0.0.0"]);
    check(&cidr(&["::/0"]), &["::1"], &["10.1.2.3", "::ffff:10.1.2.3"]);
}

#[test]
fn regular_expressions_cannot_leave_their_parentheses() {
    assert!(whole_value_regex("a)(b").is_err());
    check(&regex("(?x) a b # both"), &["ab"], &["a", "xab"]);
    check(&regex("(?i)abc"), &["ABC"], &["ABCD"]);
    check(&regex("(?m)a$"), &["a"], &["a\nb"]);
    check(&regex(""), &[""], &["a"]);
}

#[test]
fn says_what_is_wrong_with_a_regular_expression() {
    assert_eq!(whole_value_regex("(a").unwrap_err(), "this is no regular expression: unclosed group");
    assert!(whole_value_regex(r"(\w{1000}){1000}").unwrap_err().contains("too big"));
}

#[test]
fn conditions_combine() {
    let mut names = Names::new();
    let (plan, path) = (names.intern("plan").unwrap(), names.intern("path").unwrap());
    let free = || Condition::Is(plan, one_of(&["free"]));
    let mut facts = Facts::new();
    facts.set(path, "/a");
    assert!(Condition::All(vec![]).holds(&facts));
    assert!(!Condition::Any(vec![]).holds(&facts));
    assert!(!free().holds(&facts));
    assert!(Condition::Not(Box::new(free())).holds(&facts));
    assert!(Condition::Any(vec![free(), Condition::Is(path, Test::Present)]).holds(&facts));
    assert!(!Condition::All(vec![free(), Condition::Is(path, Test::Present)]).holds(&facts));
    facts.set(plan, "free");
    assert!(Condition::All(vec![free(), Condition::Is(path, Test::Present)]).holds(&facts));
}

#[test]
fn the_narrower_is_the_more_specific() {
    let id = Names::new().intern("it").unwrap();
    let tests = [
        one_of(&["a"]),
        one_of(&["a", "b"]),
        glob("/a/b/c/**"),
        glob("/a/b/**"),
        Test::Prefix("/a/b".into()),
        Test::Prefix("/a".into()),
        cidr(&["10.0.0.0/24"]),
        cidr(&["10.0.0.0/24", "10.0.0.0/8"]),
        regex("a.*"),
        Test::Present,
    ];
    let specific = tests.map(|test| Condition::Is(id, test).specificity());
    assert!(specific.is_sorted_by(|more, less| more > less), "{specific:?}");
    let present = || Condition::Is(id, Test::Present);
    assert_eq!(Condition::All(vec![]).specificity(), 0);
    assert_eq!(Condition::All(vec![present(), present()]).specificity(), 200);
    assert_eq!(Condition::Any(vec![present(), Condition::All(vec![])]).specificity(), 0);
}

#[test]
fn facts_find_every_attribute_however_many() {
    let mut names = Names::new();
    let all: Vec<_> =
        (0..400).map(|nth| (names.intern(&nth.to_string()).unwrap(), nth.to_string())).collect();
    let mut facts = Facts::new();
    for (id, value) in all.iter().rev().filter(|(id, _)| id.index() % 3 != 1) {
        facts.set(*id, "to be replaced");
        facts.set(*id, value);
    }
    for (id, value) in &all {
        assert_eq!(facts.get(*id), (id.index() % 3 != 1).then_some(&**value));
    }
    facts.clear();
    assert!(all.iter().all(|(id, _)| facts.get(*id).is_none()) && facts.iter().count() == 0);
}

#[test]
fn no_value_is_printed() {
    let id = Names::new().intern("api_key").unwrap();
    let mut facts = Facts::new();
    facts.set(id, "secret");
    let condition = Condition::All(vec![Condition::Is(id, one_of(&["secret"]))]);
    assert!(!format!("{facts:?} {condition:?}").contains("secret"));
}
