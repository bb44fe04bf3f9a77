use proptest::prelude::*;
use tidegate_rules::{Snapshot, Source as File, compile};

use super::*;
use crate::check::Descriptor;
use crate::matching;

const RULES: &str = "
tenant: org
rules:
  - { name: everyone, limit: 10/s }
  - { name: per-user, by: [user], limits: [100/s, 5000/h, 7 concurrent], cost: 3 }
  - { name: reads, match: { method: GET }, by: [method], limit: 10/s burst 20 }
  - { name: countries, by: [country], limit: 10/min }
  - { name: apart, by: [path], scope: global, limits: [{ amount: 20, per: 1m, algorithm: sliding_log }] }
";

fn snapshot(tenant: bool) -> Snapshot {
    let text = if tenant { RULES.to_owned() } else { RULES.replace("tenant: org", "") };
    let compiled = compile(vec![File::new("rules.yaml", format!("domain: api\n{text}"))]);
    let said = compiled.render();
    compiled.snapshot.unwrap_or_else(|| panic!("{said}"))
}

/// What a check is charged, each charge with its key.
fn charged(check: &Check<'_>, domain: &Domain, plainly: bool) -> Vec<String> {
    let matches = matching::find(check, domain).unwrap();
    let mut chosen = SmallVec::new();
    chosen::choose(check, domain, &matches, Timestamp::ZERO, &mut chosen);
    assert!(chosen.iter().all(|one| one.plain), "a rule of these is not plain");
    let (mut plan, mut meaning) = (Plan::new(), Meaning::default());
    let view = &matches.views.first;
    assert!(all_are_plain(domain, view));
    if plainly {
        charge_plain_rules(check, domain, view, (&mut plan, &mut meaning)).unwrap();
    } else {
        let (now, matches) = (Timestamp::ZERO, &matches);
        let mut writer = Writer { check, domain, matches, now, plan: &mut plan, meaning: &mut meaning };
        chosen.iter().for_each(|one| writer.charge(one).unwrap());
    }
    let parts = meaning.parts.iter().map(|part| format!("{part:?}"));
    let charges = plan.charges().map(|charge| format!("{charge:?} {:?}", charge.key.bytes()));
    parts.chain(charges).collect()
}

#[test]
fn of_the_caller_s_time_enough_is_kept_for_the_way_back() {
    let given = |us| u64::try_from(patience(Duration::from_micros(us)).as_micros()).unwrap();
    assert_eq!([20_000, 10_000, 50_000, 1_000_000].map(given), [16_000, 8_000, 40_000, 800_000]);
    assert_eq!([5_000, 3_500, 3_000].map(given), [3_000, 1_500, 1_000], "2 ms at least");
    assert_eq!([2_500, 1, 0].map(given), [1_000; 3], "never nothing");
    assert!(patience(Duration::MAX) > Duration::from_secs(1 << 60));
}

#[test]
fn a_plan_has_its_caller_s_patience_and_none_if_there_is_none() {
    let snapshot = snapshot(true);
    let domain = snapshot.domain("api").unwrap();
    for (said, meant) in [(None, None), (Some(50), Some(40))] {
        for attributes in [&[][..], &[("user", "a")]] {
            let patience = said.map(Duration::from_millis);
            let check = Check { attributes, patience, ..Check::new("api") };
            let matches = matching::find(&check, domain).unwrap();
            let resolved = super::plan(&check, domain, &matches, (Timestamp::ZERO, Ticket::default()));
            assert_eq!(resolved.unwrap().plan.patience(), meant.map(Duration::from_millis));
        }
    }
}

const TIERS: &str = "domain: api
tenant: org
rules:
  - { name: per-user, by: [user], limit: 10/s, tiers: { pro: 20/s }, block_for: 1m }
  - { name: daily, by: [user], limit: 100/d }
  - { name: per-ip, by: [ip], scope: global, limit: 10/s }
descriptors:
  - { key: org, rate_limit: { unit: second, requests_per_unit: 5 } }
";

/// The homes of what a check is charged and of its name, in parts; each once.
fn homes(snapshot: &Snapshot, check: &Check<'_>) -> Vec<Vec<u8>> {
    let domain = snapshot.domain("api").unwrap();
    let matches = matching::find(check, domain).unwrap();
    let plan = super::plan(check, domain, &matches, (Timestamp::ZERO, Ticket::default())).unwrap().plan;
    let name = plan.idempotency().map(|name| name.key.as_ref().home());
    let mut homes: Vec<Vec<u8>> =
        plan.charges().map(|charge| charge.key.home()).chain(name).map(<[u8]>::to_vec).collect();
    homes.sort();
    homes.dedup();
    homes
}

#[test]
fn what_is_a_tenants_lives_with_a_tier_that_lives_apart() {
    use tidegate_core::EncodedParts;
    use tidegate_rules::apart::Tier;
    let mut snapshot = compile(vec![File::new("rules.yaml", TIERS)]).snapshot.unwrap();
    let tier = |domain: &str| {
        let [domain, attribute, value] = [domain, "plan", "pro"].map(str::to_owned);
        Tier { domain, attribute, value }
    };
    assert_eq!(snapshot.set_apart(&[tier("api"), tier("elsewhere")]), [] as [&Tier; 0]);
    let entries = [("org", "acme")];
    let brought = Some(Override { amount: 5, per: Duration::from_secs(60) });
    let descriptors = [Descriptor::new(&entries), Descriptor { limit: brought, ..Descriptor::new(&entries) }];
    let asked = |plan: &'static str| {
        let attributes = [("org", "acme"), ("user", "bob"), ("ip", "192.0.2.1"), ("plan", plan)];
        let check = Check {
            attributes: &attributes,
            descriptors: &descriptors,
            idempotency_key: Some("once"),
            ..Check::new("api")
        };
        homes(&snapshot, &check)
    };
    let home = |parts: &[&[u8]]| EncodedParts::new(parts).as_bytes().to_vec();
    let everybody =
        asked("free").into_iter().find(|home| home.windows(6).any(|part| part == b"per-ip")).unwrap();
    let mut pro = vec![home(&[b"", b"api", b"plan", b"pro", b"acme"]), everybody.clone()];
    let mut free = vec![home(&[b"api", b"acme"]), everybody];
    pro.sort();
    free.sort();
    assert_eq!(asked("pro"), pro);
    assert_eq!(asked("free"), free);
}

#[test]
fn class_goes_by_tier() {
    let rules = "domain: api
rules:
  - name: tokens
    by: [org]
    limit: 10/s
    class: { default: cost, free: security, pro: comfort }
    tiers: { pro: 20/s }
";
    let snapshot = compile(vec![File::new("rules.yaml", rules)]).snapshot.unwrap();
    let domain = snapshot.domain("api").unwrap();
    let class = |plan: &str| {
        let attributes = [("org", "acme"), ("plan", plan)];
        let check = Check { attributes: &attributes, ..Check::new("api") };
        let matches = matching::find(&check, domain).unwrap();
        super::plan(&check, domain, &matches, (Timestamp::ZERO, Ticket::default())).unwrap().plan.class()
    };
    assert_eq!([class("free"), class("pro"), class("trial")], [Class::Security, Class::Comfort, Class::Cost]);
    assert_eq!(domain.class, Class::Security, "the strictest");
}

proptest! {
    #[test]
    fn plain_rules_are_charged_as_others_are(
        values in prop::collection::vec(prop::option::of("[a-z/]{0,3}|[a-z]{120,140}|[a-z]{500,600}"), 5),
        tenant: bool,
        cost in 0..5_u64,
    ) {
        let snapshot = snapshot(tenant);
        let names = ["org", "user", "method", "path", "country"];
        let there = names.iter().zip(&values).filter_map(|(name, value)| Some((*name, value.as_deref()?)));
        let attributes: Vec<(&str, &str)> = there.collect();
        let check = Check { attributes: &attributes, cost, ..Check::new("api") };
        let domain = snapshot.domain("api").unwrap();
        prop_assert_eq!(charged(&check, domain, true), charged(&check, domain, false));
    }
}
