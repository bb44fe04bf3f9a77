use std::time::Duration;

use super::*;
use tidegate_engine::Override;

const TREE: &str = "descriptors:
  - key: database
    value: users
    rate_limit: { unit: minute, requests_per_unit: 2, name: users }
  - key: database
    rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: shared
    value: a*
    share_threshold: true
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: free
    rate_limit: { unlimited: true, name: free, replaces: [{ name: users }] }
  - key: closed
    rate_limit: { unit: hour, requests_per_unit: 0 }
  - key: trial
    shadow_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
  - { key: quota, value: a, quota_mode: true, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: quota, value: b, quota_mode: true, rate_limit: { unit: minute, requests_per_unit: 2 } }
";

#[test]
fn values_without_a_rule_of_their_own_count_by_themselves() {
    let way = Way::new(TREE);
    let passing = |value| (0..9).take_while(|_| way.descriptors(&[&[("database", value)]]).allowed()).count();
    assert_eq!([passing("users"), passing("x"), passing("y")], [2, 1, 1]);
}

#[test]
fn all_descriptors_of_a_request_are_charged_together_or_not_at_all() {
    let way = Way::new(TREE);
    assert!(way.descriptors(&[&[("database", "x")]]).allowed());
    let both = way.descriptors(&[&[("database", "users")], &[("database", "x")]]);
    assert_eq!(denied_by(&both), ["database"]);
    let seen: Vec<_> =
        both.limits().map(|view| (view.descriptor, view.allows(), view.verdict.remaining)).collect();
    assert_eq!(seen, [(Some(0), true, 2), (Some(1), false, 0)]);
}

#[test]
fn a_shared_threshold_is_one_counter() {
    let way = Way::new(TREE);
    assert!(way.descriptors(&[&[("shared", "a1")]]).allowed());
    assert!(way.descriptors(&[&[("shared", "a2")]]).allowed());
    assert!(!way.descriptors(&[&[("shared", "a3")]]).allowed());
}

#[test]
fn what_replaces_a_limit_stands_in_for_it() {
    let way = Way::new(TREE);
    for _ in 0..5 {
        let decision = way.descriptors(&[&[("database", "users")], &[("free", "1")]]);
        assert!(decision.allowed() && decision.limits().len() == 0);
    }
}

#[test]
fn nothing_per_unit_refuses_and_the_shadow_does_not() {
    let way = Way::new(TREE);
    let closed = way.descriptors(&[&[("closed", "x")]]);
    assert_eq!((closed.outcome, closed.status()), (Outcome::Deny, 429));
    assert!((0..5).all(|_| way.descriptors(&[&[("trial", "x")]]).allowed()));
}

#[test]
fn quotas_refuse_only_together() {
    let way = Way::new(TREE);
    let ask = || way.descriptors(&[&[("quota", "a")], &[("quota", "b")]]).allowed();
    assert_eq!([ask(), ask(), ask()], [true, true, false]);
}

#[test]
fn a_quota_in_the_shadow_never_refuses() {
    let way = Way::new(
        "descriptors: [{ key: q, quota_mode: true, shadow_mode: true, rate_limit: { unit: minute, requests_per_unit: 1 } }]",
    );
    assert!((0..5).all(|_| way.descriptors(&[&[("q", "x")]]).allowed()));
}

#[test]
fn what_quotas_refuse_is_charged_nowhere() {
    let way = Way::new(&format!("{TREE}rules: [{{ name: all, limit: 9/min }}]"));
    let quotas: [Pairs<'_>; 2] = [&[("quota", "a")], &[("quota", "b")]];
    let left = |decision: &Decision| {
        decision.limits().find(|view| view.policy() == "all").unwrap().verdict.remaining
    };
    assert_eq!([left(&way.descriptors(&quotas)), left(&way.descriptors(&quotas))], [8, 7]);
    assert!(!way.descriptors(&quotas).allowed());
    assert_eq!(left(&way.descriptors(&[&[("other", "x")]])), 6);
}

#[test]
fn a_descriptor_may_bring_its_limit() {
    let way = Way::new(TREE);
    let limit = Override { amount: 3, per: Duration::from_secs(60) };
    let descriptors = [Descriptor { entries: &[("database", "users")], limit: Some(limit), cost: None }];
    let check = Check { descriptors: &descriptors, ..Check::new("api") };
    assert_eq!((0..9).take_while(|_| way.ask(&check).unwrap().allowed()).count(), 3);
    let nothing = [Descriptor { limit: Some(Override { amount: 0, ..limit }), ..descriptors[0] }];
    assert!(!way.ask(&Check { descriptors: &nothing, ..check }).unwrap().allowed(), "0 refuses everything");
}

#[test]
fn costs_of_descriptors_are_their_own() {
    let way = Way::new("descriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 10 } }]");
    let descriptors = [
        Descriptor { entries: &[("k", "a")], limit: None, cost: Some(4) },
        Descriptor { entries: &[("k", "b")], limit: None, cost: None },
        Descriptor { entries: &[("k", "c")], limit: None, cost: Some(0) },
    ];
    let decision = way.ask(&Check { descriptors: &descriptors, cost: 2, ..Check::new("api") }).unwrap();
    assert_eq!(decision.limits().map(|view| view.verdict.remaining).collect::<Vec<_>>(), [6, 8, 10]);
}

#[test]
fn entries_of_descriptors_are_facts_for_rules() {
    let way = Way::new(
        "rules: [{ name: per-key, by: [api_key], match: { path: /x }, limit: 2/min }, { name: per-ip, by: [ip], limit: 9/min }, { name: anonymous, match: { api_key: { absent: true } }, limit: 1/min }]",
    );
    let both = way.descriptors(&[&[("remote_address", "192.0.2.1")], &[("api_key", "k"), ("path", "/x")]]);
    let seen: Vec<_> = both.limits().map(|view| (view.policy().to_owned(), view.descriptor)).collect();
    assert_eq!(seen, [("per-key".into(), Some(1)), ("per-ip".into(), Some(0))], "and nobody is anonymous");
}

#[test]
fn descriptors_that_disagree_are_each_held_to_the_rules() {
    let way = Way::new(
        "rules: [{ name: by-key, by: [generic_key], limit: 2/min }, { name: everyone, limit: 9/min }]",
    );
    let decision = way.descriptors(&[&[("generic_key", "a")], &[("generic_key", "b")]]);
    let seen: Vec<_> =
        decision.limits().map(|view| (view.policy().to_owned(), view.verdict.remaining)).collect();
    assert_eq!(
        seen,
        [("by-key".into(), 1), ("everyone".into(), 8), ("by-key".into(), 1)],
        "what they share is charged once"
    );
}
