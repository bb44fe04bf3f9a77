use proptest::prelude::*;
use tidegate_rules::{Snapshot, Source as File, compile};

use super::*;
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
