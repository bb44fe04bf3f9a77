use super::*;
use crate::rule::{Action, By, Mode, Scope};

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
    assert!(matches!(orders.by[..], [By::Attribute(_), By::Capture { index: 0, .. }]));
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
    assert_eq!((get.action, get.mode), (Action::Block, Mode::Shadow));
    assert_eq!(domain.tree.find([("database", "users"), ("method", "GET /x")].into_iter()), Some(5));
}
