use super::*;
use tidegate_engine::explain::{Explanation, Part, explain};

fn explained(rules: &str, attributes: Pairs<'_>) -> Explanation {
    let way = Way::new(rules);
    explain(&Check { attributes, ..Check::new("api") }, &way.engine.snapshot(), way.now)
        .expect("a sound check")
}

fn why(explanation: &Explanation, rule: &str) -> String {
    match &explanation.rules.iter().find(|one| one.rule == rule).expect("the rule is there").part {
        Part::Not(why) => why.clone(),
        Part::Alone => "alone".to_owned(),
        Part::Applies { decides, charges } => {
            let charges: Vec<String> = charges
                .iter()
                .map(|one| format!("{} {} x{} [{}]", one.policy, one.limit, one.cost, one.counter))
                .collect();
            format!("{}: {}", if *decides { "decides" } else { "reports" }, charges.join("; "))
        }
    }
}

#[test]
fn every_rule_says_why_or_why_not() {
    let rules = "tenant: org
identities: { api_key: { derive: org, map: { k1: acme } } }
rules:
  - { name: per-key, by: [api_key], limits: [100/s, 5000/h], tiers: { pro: [1000/s] } }
  - { name: writes, match: { method: POST, path: '/v1/**' }, limit: 5/s, cost: 3 }
  - { name: per-ip, by: [ip], scope: global, limit: 5/s }
  - { name: trial, mode: shadow, limit: 5/s }
  - { name: old, mode: off, limit: 5/s }
  - { name: gone, expires_at: 2026-01-01, limit: 5/s }
  - { name: night, when: { hours: '22:00-06:00' }, limit: 5/s }
  - { name: first, group: g, match: { method: GET }, limit: 5/s }
  - { name: second, group: g, limit: 5/s }";
    let said = explained(rules, &[("api_key", "k1"), ("method", "GET"), ("path", "/v1/x"), ("plan", "pro")]);
    assert_eq!(
        (said.tenant.as_deref(), said.derived.clone()),
        (Some("acme"), vec![("org".into(), "acme".into())])
    );
    assert_eq!(why(&said, "per-key"), "decides: per-key 1000/s x1 [org=acme, api_key=…]");
    assert_eq!(why(&said, "writes"), "`method` is `GET` (wanted: method = POST)");
    assert_eq!(why(&said, "per-ip"), "the request has no `ip` to count by");
    assert_eq!(why(&said, "trial"), "reports: trial 5/s x1 [org=acme]");
    assert_eq!(why(&said, "old"), "it is off");
    assert_eq!(why(&said, "gone"), "it has expired");
    assert_eq!(why(&said, "night"), "it is not its time (`when`); next from 2026-09-28T22:00:00Z");
    assert_eq!(why(&said, "first"), "decides: first 5/s x1 [org=acme]");
    assert_eq!(why(&said, "second"), "`first` goes first in its group");
}

#[test]
fn explains_captures_in_lists() {
    let rules = "rules:
  - { name: list, match: { path: ['/v1/a/{id}', '/v1/b/{id}/x', /v1] }, by: [id], limit: 5/s }
  - { name: group, match: { path: { regex: '/v1/(?<kind>[a-z])/.*' } }, by: [kind], limit: 5/s }";
    let said = explained(rules, &[("path", "/v1/b/7/x")]);
    assert_eq!(why(&said, "list"), "decides: list 5/s x1 [id=7]");
    assert_eq!(why(&said, "group"), "decides: group 5/s x1 [kind=b]");
    let said = explained(rules, &[("path", "/v1")]);
    assert_eq!(why(&said, "list"), "the request has no `{id}` to count by");
}

#[test]
fn explains_a_schedule_that_is_over() {
    let said = explained("rules: [{ name: sale, when: { dates: [2025-12-24] }, limit: 5/s }]", &[]);
    assert_eq!(why(&said, "sale"), "it is not its time (`when`); never again");
}

#[test]
fn a_rule_that_decides_alone_says_so_to_the_others() {
    let said = explained(
        "rules: [{ name: health, match: { path: /healthz }, action: bypass }, { name: all, limit: 1/s }]",
        &[("path", "/healthz")],
    );
    assert_eq!(said.alone.as_deref(), Some("health"));
    assert_eq!([why(&said, "health"), why(&said, "all")], ["alone", "`health` decides by itself"]);
}

#[test]
fn an_unknown_domain_has_nothing_to_say() {
    let way = Way::new("rules: []");
    let said = explain(&Check::new("elsewhere"), &way.engine.snapshot(), way.now).unwrap();
    assert!(!said.known_domain && said.rules.is_empty());
}

#[test]
fn secrets_are_not_shown_though_they_are_the_tenant_or_a_part_of_the_counter() {
    let rules = "tenant: api_key
rules:
  - { name: all, limit: 1/s }
  - { name: family, match: { token: { glob: 'live/{family}/*' } }, by: [family], scope: global, limit: 1/s }
";
    let said = explained(rules, &[("api_key", "hunter2"), ("token", "live/hunter2/x")]);
    assert_eq!(said.tenant.as_deref(), Some("…"));
    assert!(!format!("{said:?}").contains("hunter2"), "{said:?}");
}
