//! Captures in every place where a rule can write them.

use smallvec::SmallVec;
use tidegate_rules::condition::Facts;
use tidegate_rules::{Source, compile};

/// The value that the first `by` of the rule takes from a request, and whether the rule matches it.
#[track_caller]
fn check(rule: &str, request: &[(&str, &str)], expected: Option<&str>) {
    let text = format!("domain: api\nattributes: [outcome]\nrules:\n  - {{ name: a, limit: 1/s, {rule} }}\n");
    let compiled = compile(vec![Source::new("a.yaml", text)]);
    let said = compiled.render();
    let snapshot = compiled.snapshot.unwrap_or_else(|| panic!("{said}"));
    let domain = snapshot.domain("api").expect("it is there");
    let mut facts = Facts::new();
    for (name, value) in request {
        if let Some(attribute) = domain.names.get(name) {
            facts.set(attribute, value);
        }
    }
    let mut found = SmallVec::new();
    domain.matcher.matches(&facts, &mut found);
    assert_eq!(found.len(), 1, "{rule} matches");
    assert_eq!(domain.rules[0].by[0].value(&facts), expected, "{rule}");
}

#[test]
fn captures_in_a_list_of_one() {
    check(r#"match: { path: ["/v1/pi/{id}"] }, by: [id]"#, &[("path", "/v1/pi/7")], Some("7"));
}

#[test]
fn captures_in_a_list_of_several() {
    let rule = r#"match: { path: ["/v1/pi/{id}", "/v1/pi/{id}/confirm"] }, by: ["{id}"]"#;
    check(rule, &[("path", "/v1/pi/7")], Some("7"));
    check(rule, &[("path", "/v1/pi/8/confirm")], Some("8"));
}

#[test]
fn captures_in_any_by_the_branch_that_holds() {
    let rule = r#"match: { any: [{ method: GET, path: "/a/{id}/*" }, { method: POST, path: "/a/*/{id}" }] }, by: [id]"#;
    check(rule, &[("method", "GET"), ("path", "/a/x/y")], Some("x"));
    check(rule, &[("method", "POST"), ("path", "/a/x/y")], Some("y"));
}

#[test]
fn captures_in_count_alone() {
    let rule = r#"count: { path: "/v1/pi/{id}", outcome: failed }, by: [id]"#;
    check(rule, &[("path", "/v1/pi/7"), ("outcome", "failed")], Some("7"));
    check(rule, &[("path", "/v1/pi/7")], Some("7"));
    check(rule, &[("path", "/v2")], None);
}

#[test]
fn captures_named_groups() {
    for pattern in ["/v1/(?P<id>[0-9]+)(/.*)?", "/v1/(?<id>[0-9]+)(/.*)?"] {
        let rule = format!(r#"match: {{ path: {{ regex: "{pattern}" }} }}, by: [id]"#);
        check(&rule, &[("path", "/v1/12/x")], Some("12"));
    }
}

#[test]
fn has_no_value_without_capture() {
    let rule = r#"match: { path: ["/v1/pi/{id}", "/v1/pi"] }, by: [id]"#;
    check(rule, &[("path", "/v1/pi"), ("id", "9")], None);
}

#[test]
fn captures_in_a_listed_test() {
    let rule = r#"match: { path: [/v1, { regex: "/v1/(?<id>.+)" }, { glob: "/v2/{id}" }] }, by: [id]"#;
    check(rule, &[("path", "/v1/a")], Some("a"));
    check(rule, &[("path", "/v2/b")], Some("b"));
}
