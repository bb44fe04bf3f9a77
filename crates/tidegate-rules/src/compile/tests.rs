use super::*;
use crate::rule::{Action, By, Class, Cost, Mode, Scope};

const EXAMPLE: &str = r#"
domain: api
tenant: org
identities: { api_key: { derive: [org, plan], map: { k1: { org: acme, plan: pro } }, pattern: "(?<org>[a-z]+)_.*" } }
rules:
  - name: health
    match: { path: /healthz }
    action: bypass
  - name: orders-write
    match: { method: [POST], path: "/api/v1/orders/{id}/**", plan: free }
    by: [api_key, id]
    limit: 20/min
    class: comfort
    mode: shadow
  - name: per-key
    by: [api_key]
    limits: [100/s, 5000/h]
    tiers: { pro: [1000/s], enterprise: [10000/s] }
  - name: per-ip
    by: [ip]
    scope: global
    limit: { amount: 20, per: 1m, burst: 5, algorithm: gcra }
descriptors:
  - key: database
    value: users
    rate_limit: { unit: second, requests_per_unit: 500, name: users }
    descriptors:
      - key: method
        value: "GET*"
        share_threshold: true
        shadow_mode: true
        rate_limit: { unit: minute, requests_per_unit: 0 }
"#;

fn compile_one(text: &str) -> Compiled {
    compile(vec![Source::new("api.yaml", text)])
}

#[test]
fn rules_and_descriptors_become_one_snapshot() {
    let compiled = compile_one(EXAMPLE);
    let snapshot = compiled.snapshot.as_ref().unwrap_or_else(|| panic!("{}", compiled.render()));
    let domain = snapshot.domain("api").unwrap();
    let names: Vec<&str> = domain.rules.iter().map(|rule| &*rule.name).collect();
    assert_eq!(
        names,
        ["health", "orders-write", "per-key", "per-ip", "database=users", "database=users/method=GET*"]
    );
    let [health, orders, per_key, per_ip, users, get] = domain.rules.as_slice() else { panic!() };
    assert_eq!((health.action, orders.mode), (Action::Bypass, Mode::Shadow));
    assert!(matches!(orders.by[..], [By::Attribute(_), By::Capture { .. }]));
    assert_eq!(
        (&*orders.dimension, orders.reason(orders.limits.own.first())),
        ("api_key", "endpoint-rate".into())
    );
    assert_eq!(&*per_key.limits.own[1].policy, "per-key:h");
    assert_eq!(per_key.limits.of(Some("pro"))[0].amount, 1000);
    assert_eq!(per_key.limits.of(Some("unknown")).len(), 2);
    assert_eq!((per_key.scope, per_ip.scope), (Scope::Tenant, Scope::Global));
    assert_eq!(&*per_ip.limits.own[0].written, "20/min burst 5");
    assert_eq!(&*users.limits.own[0].policy, "users");
    assert_eq!((get.action, get.mode), (Action::Reject, Mode::Shadow));
    assert_eq!(domain.tree.find([("database", "users"), ("method", "GET /x")].into_iter()), Some(5));
}

fn good(text: &str) -> Snapshot {
    let compiled = compile_one(text);
    let said = compiled.render();
    compiled.snapshot.unwrap_or_else(|| panic!("{said}"))
}

#[test]
fn costs_by_method_take_lists_and_stars() {
    let snapshot = good(
        "domain: api\nrules:\n  - { name: a, by: [ip], limit: 100/s, cost: { methods: { \"get, Head\": 2, POST: 9, \"*\": 5 } } }\n",
    );
    let Cost::Methods { points, default, .. } = &snapshot.domain("api").unwrap().rules[0].cost else {
        panic!()
    };
    assert_eq!(*points, [("GET".into(), 2), ("HEAD".into(), 2), ("POST".into(), 9)]);
    assert_eq!(*default, 5);
}

#[test]
fn own_names_of_limits_are_policies() {
    let snapshot = good(
        "domain: api\nrules:
  - { name: one, by: [ip], limit: { name: burst/s, amount: 5, per: 1s } }
  - { name: two, by: [ip], limits: [5/s, { name: daily/all, amount: 5, per: day, window: calendar }] }
  - { name: three, by: [ip], limits: [5 concurrent, 20/10s] }\n",
    );
    let limits = snapshot.domain("api").unwrap().rules.iter().flat_map(|rule| &rule.limits.own);
    let shown: Vec<_> = limits.map(|limit| (&*limit.policy, limit.name.as_deref(), limit.window())).collect();
    let window = |window: &str| Some(window.to_owned());
    assert_eq!(
        shown,
        [
            ("burst/s", Some("burst/s"), window("s")),
            ("two:s", None, window("s")),
            ("two:daily/all", Some("daily/all"), window("day")),
            ("three:concurrency", None, None),
            ("three:10s", None, window("10s")),
        ]
    );
}

fn said_of_two(first: &str, second: &str) -> String {
    compile(vec![Source::new("a.yaml", first), Source::new("b.yaml", second)]).render()
}

#[test]
fn files_of_one_domain_agree_on_how_addresses_are_counted() {
    let first = "domain: api\nip: { v6_prefix: 48 }\n";
    assert_eq!(said_of_two(first, "# elsewhere in its file\ndomain: api\nip: { v6_prefix: 48 }\n"), "");
    assert_eq!(said_of_two(first, "domain: api\nip: { v4_prefix: 24 }\n"), "", "they say different things");
    let said = said_of_two(first, "domain: api\nip: { v6_prefix: 56 }\n");
    assert!(said.contains("error[ip]: another file of this domain has `v6_prefix: 48`"), "{said}");
    assert_eq!(said_of_two(first, "domain: other\nip: { v6_prefix: 56 }\n"), "");
}

#[test]
fn names_of_attributes_have_one_form_wherever_they_stand() {
    let snapshot = good(
        "domain: api\ntenant: Header.X-Org\nidentities: { Header.X-Key: { derive: [Header.X-Org, Header.X-Plan] } }\n\
         rules: [{ name: a, by: [remote_address], limit: 5/s, tiers: { pro: 9/s }, tier_by: Header.X-Plan, cost: Header.X-Cost }]",
    );
    let names = &snapshot.domain("api").unwrap().names;
    let all: Vec<&str> = names.iter().map(|(name, _)| name).collect();
    assert_eq!(all, ["header.x-org", "header.x-key", "header.x-plan", "ip", "header.x-cost"]);
}

#[test]
fn a_limit_is_shown_with_what_it_counts_and_whether_it_delays() {
    let shown = |rule: &str| {
        let snapshot = good(&format!("domain: api\nrules: [{{ name: a, by: [user], {rule} }}]"));
        snapshot.domain("api").unwrap().rules[0].limits.own[0].written.to_string()
    };
    assert_eq!(shown("limit: { amount: 1000, per: 1m, unit: bytes }"), "1000/min bytes");
    assert_eq!(shown("limit: { amount: 1000, per: 1m, unit: requests }"), "1000/min");
    assert_eq!(shown("limit: 10/s burst 20, action: delay"), "10/s burst 20 delayed");
    assert_eq!(shown("limit: { amount: 10, per: 1s, queue: 5, shape: true }"), "10/s burst 5 delayed");
    assert_eq!(shown("limit: { amount: 10, per: 1s, queue: 5 }"), "10/s burst 5");
}

#[test]
fn the_class_of_a_domain_is_that_of_rules_which_can_refuse() {
    let class = |rules: &str| good(&format!("domain: api\nrules: [{rules}]")).domain("api").unwrap().class;
    let comfort = "{ name: c, by: [user], limit: 5/s }";
    for harmless in [
        "{ name: h, by: [user], limit: 5/s, class: strict, mode: shadow }",
        "{ name: h, by: [user], limit: 5/s, class: strict, mode: off }",
        "{ name: h, match: { path: /h }, action: bypass, class: strict }",
        "{ name: h, match: { path: /h }, action: unlimited, class: strict }",
    ] {
        assert_eq!(class(&format!("{comfort}, {harmless}")), Class::Comfort, "{harmless}");
    }
    let block = "{ name: b, match: { user: bad }, action: block, class: security }";
    assert_eq!(class(&format!("{comfort}, {block}")), Class::Security);
}

#[test]
fn queries_are_known_by_the_names_that_they_have_there() {
    let snapshot = good(
        "domain: api\nrules: [{ name: a, match: { query: { page: '1' }, plan: free }, by: [query.sort, user], limit: 5/s }]",
    );
    let domain = snapshot.domain("api").unwrap();
    let query: Vec<(&str, &str)> =
        domain.query.iter().map(|(name, id)| (&**name, domain.names.name(*id))).collect();
    assert_eq!(query, [("page", "query.page"), ("sort", "query.sort")]);
}

#[test]
fn no_rule_has_more_limits_than_a_request_can_meet() {
    let limits: Vec<String> = (1..=65).map(|seconds| format!("{seconds}/{seconds}s")).collect();
    let rules = |count: usize| {
        format!("domain: api\nrules: [{{ name: a, by: [user], limits: [{}] }}]", limits[..count].join(", "))
    };
    assert!(compile_one(&rules(64)).snapshot.is_some());
    assert!(compile_one(&rules(65)).render().contains("error[too-many-limits]"));
}

#[test]
fn rules_of_a_tree_have_names_of_their_own_and_policies_as_written() {
    let snapshot = good(
        "domain: api\nrules: [{ name: user, by: [user], limit: 5/s }, { name: new, was: old, by: [user], limit: 5/s }]\n\
         descriptors:\n\
         - { key: user, rate_limit: { unit: second, requests_per_unit: 5 } }\n\
         - { key: old, rate_limit: { unit: second, requests_per_unit: 5 } }\n\
         - { key: a, value: b/c=d, rate_limit: { unit: second, requests_per_unit: 5 } }\n\
         - { key: a, value: b, descriptors: [{ key: c, value: d, rate_limit: { unit: second, requests_per_unit: 5 } }] }\n",
    );
    let rules = &snapshot.domain("api").unwrap().rules[2..];
    let names: Vec<&str> = rules.iter().map(|rule| &*rule.name).collect();
    assert_eq!(names, ["user#2", "old#2", "a=b/c=d", "a=b/c=d#2"]);
    let policies: Vec<&str> = rules.iter().map(|rule| &*rule.limits.own[0].policy).collect();
    assert_eq!(policies, ["user", "old", "a=b/c=d", "a=b/c=d"]);
}

#[test]
fn a_secret_of_a_tree_keeps_its_number_when_other_rules_come() {
    let name = |before: &str| {
        let tree = "descriptors: [{ key: token, value: x, rate_limit: { unit: day, requests_per_unit: 5 } }]";
        let snapshot = good(&format!("domain: api\n{before}\n{tree}"));
        snapshot.domain("api").unwrap().rules.last().unwrap().name.to_string()
    };
    assert_eq!(name(""), "token=#1");
    assert_eq!(name("rules: [{ name: a, by: [user], limit: 5/s }]"), "token=#1");
}

#[test]
fn what_every_request_would_meet_fits_into_one_plan() {
    let rules = |count: usize, extra: &str| {
        let rules: Vec<String> =
            (0..count).map(|number| format!("{{ name: r{number}, limit: 5/s, {extra} }}")).collect();
        compile_one(&format!("domain: api\nrules: [{}]", rules.join(", ")))
    };
    assert!(rules(64, "").snapshot.is_some());
    let said = rules(65, "").render();
    assert!(said.contains("error[too-many-limits]: every request would meet more than 64 limits"), "{said}");
    assert!(rules(65, "mode: shadow").snapshot.is_none(), "a shadow is counted too");
    let apart = ["mode: off", "by: [user]", "match: { plan: free }", "group: one", "when: { days: mon }"];
    for extra in apart {
        assert!(rules(65, extra).snapshot.is_some(), "{extra}");
    }
}
