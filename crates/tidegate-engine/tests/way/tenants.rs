use super::*;

const RULES: &str = "tenant: org
identities:
  api_key: { derive: [org, plan], map: { k1: { org: acme, plan: pro }, k2: { org: acme } }, pattern: '(?<org>[a-z]+)_.*' }
rules:
  - { name: per-user, by: [user], limit: 1/min }
  - { name: per-key, by: [api_key], limit: 1/min, tiers: { pro: [3/min] } }
  - { name: per-ip, by: [ip], scope: global, limit: 1/min }";

#[test]
fn counters_of_one_tenant_are_not_those_of_another() {
    let way = Way::new(RULES);
    assert!(way.allows(&[("org", "acme"), ("user", "bob")]));
    assert!(way.allows(&[("org", "umbrella"), ("user", "bob")]));
    assert!(!way.allows(&[("org", "acme"), ("user", "bob")]));
    assert!(way.allows(&[("user", "bob")]), "no tenant is a tenant of its own");
    assert!(!way.allows(&[("user", "bob")]));
}

#[test]
fn global_rules_count_across_tenants() {
    let way = Way::new(RULES);
    assert!(way.allows(&[("org", "acme"), ("ip", "192.0.2.1")]));
    assert_denied(&way.check(&[("org", "umbrella"), ("ip", "192.0.2.1")]), "per-ip", "ip-rate");
}

#[test]
fn the_tenant_follows_from_the_key() {
    let way = Way::new(RULES);
    assert!(way.allows(&[("api_key", "k1"), ("user", "u")]));
    assert!(!way.allows(&[("api_key", "k2"), ("user", "u")]), "both keys are of one org");
    assert!(way.allows(&[("api_key", "umbrella_7"), ("user", "u")]), "by the pattern");
    assert!(!way.allows(&[("org", "umbrella"), ("user", "u")]));
}

#[test]
fn a_claim_that_contradicts_is_malformed() {
    let way = Way::new(RULES);
    let check = Check { attributes: &[("api_key", "k1"), ("org", "umbrella")], ..Check::new("api") };
    let error = way.ask(&check).unwrap_err();
    assert_eq!(error, Malformed::Contradiction { attribute: "org".into(), from: "api_key".into() });
    assert!(way.allows(&[("api_key", "k1"), ("org", "acme")]));
}

#[test]
fn the_tier_follows_from_the_plan() {
    let way = Way::new(RULES);
    assert_eq!(way.passing(&[("api_key", "k1")]), 3);
    assert_eq!(way.passing(&[("api_key", "k2")]), 1);
    assert_eq!(way.passing(&[("api_key", "k3"), ("plan", "pro")]), 3);
    assert_eq!(way.passing(&[("api_key", "k4"), ("plan", "unheard-of")]), 1);
}

#[test]
fn counters_of_a_tenant_share_a_home_and_global_ones_have_their_own() {
    let way = Way::new(RULES);
    let homes = |attributes: Pairs<'_>| {
        let check = Check { attributes, ..Check::new("api") };
        let snapshot = way.engine.snapshot();
        let domain = snapshot.domain("api").unwrap();
        let matches = tidegate_engine::matching::find(&check, domain).unwrap();
        let resolved =
            tidegate_engine::resolve::plan(&check, domain, &matches, (START, tidegate_core::Ticket(1)))
                .unwrap();
        resolved.plan.charges().map(|charge| charge.key.home().to_vec()).collect::<Vec<_>>()
    };
    let all = homes(&[("org", "acme"), ("user", "u"), ("api_key", "k9"), ("ip", "192.0.2.1")]);
    assert_eq!(all.len(), 3);
    assert_eq!(all[0], all[1]);
    assert_ne!(all[0], all[2]);
    assert_eq!(all[2], homes(&[("org", "umbrella"), ("ip", "192.0.2.1")])[0]);
}
