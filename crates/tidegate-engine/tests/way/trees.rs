use std::time::Duration;

use super::*;
use tidegate_engine::{Charging, Override};

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
fn refusal_by_quotas_ends_only_its_own_slot() {
    let rules = "rules: [{ name: slots, match: { plan: free }, limit: 2 concurrent }]";
    let way = Way::new(&format!("{TREE}{rules}"));
    let holder = way.check(&[("plan", "free")]);
    assert!(holder.allowed() && holder.holds);
    let quotas: [Pairs<'_>; 3] = [&[("quota", "a")], &[("quota", "b")], &[("plan", "free")]];
    let used = |decision: &Decision| {
        let slots = decision.limits().find(|view| view.policy() == "slots").unwrap().verdict;
        slots.limit - slots.remaining
    };
    for _ in 0..3 {
        way.descriptors(&[&[("quota", "a")], &[("quota", "b")]]);
    }
    let refused = way.descriptors(&quotas);
    assert!(!refused.allowed());
    let peeked = Check { attributes: &[("plan", "free")], ..Check::new("api") };
    let peeked = wait(way.engine.peek(&peeked, way.now)).unwrap();
    assert_eq!(used(&peeked), 1, "the first holder keeps its slot");
}

#[test]
fn a_descriptor_may_bring_its_limit() {
    let way = Way::new(TREE);
    let limit = Override { amount: 3, per: Duration::from_secs(60) };
    let descriptors = [Descriptor { limit: Some(limit), ..Descriptor::new(&[("database", "users")]) }];
    let check = Check { descriptors: &descriptors, ..Check::new("api") };
    assert_eq!((0..9).take_while(|_| way.ask(&check).unwrap().allowed()).count(), 3);
    let nothing = [Descriptor { limit: Some(Override { amount: 0, ..limit }), ..descriptors[0] }];
    assert!(!way.ask(&Check { descriptors: &nothing, ..check }).unwrap().allowed(), "0 refuses everything");
}

#[test]
fn costs_of_descriptors_are_their_own() {
    let way = Way::new("descriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 10 } }]");
    let descriptors = [
        Descriptor { cost: Some(4), ..Descriptor::new(&[("k", "a")]) },
        Descriptor::new(&[("k", "b")]),
        Descriptor { cost: Some(0), ..Descriptor::new(&[("k", "c")]) },
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

/// The answers to some descriptors of one request, in their order: whether it passes, and for each limit whether it allows
/// and what remains.
fn answers(decision: &Decision) -> (bool, Vec<(bool, u64)>) {
    let limits = decision.limits().map(|view| (view.allows(), view.verdict.remaining));
    (decision.allowed(), limits.collect())
}

fn brings(entries: Pairs<'_>, amount: u64) -> Descriptor<'_> {
    let limit = Override { amount, per: Duration::from_secs(86_400) };
    Descriptor { limit: Some(limit), ..Descriptor::new(entries) }
}

impl Way {
    fn ask_all(&self, descriptors: &[Descriptor<'_>]) -> Decision {
        self.ask(&Check { descriptors, ..Check::new("api") }).expect("a sound check")
    }
}

#[test]
fn override_is_no_quota() {
    let way = Way::new(
        "descriptors: [{ key: q, value: a, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }]",
    );
    let both = [Descriptor::new(&[("q", "a")]), brings(&[("x", "1")], 5)];
    assert!(way.ask_all(&both).allowed());
    assert_eq!(answers(&way.ask_all(&both)), (false, vec![(true, 3), (false, 0)]), "no quota has room");
}

#[test]
fn quota_of_zero_leaves_other_quotas() {
    let way = Way::new(
        "descriptors:
  - { key: q, value: none, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: q, value: some, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }
",
    );
    let (none, some) = (Descriptor::new(&[("q", "none")]), Descriptor::new(&[("q", "some")]));
    assert_eq!(answers(&way.ask_all(&[none, some])), (true, vec![(false, 0), (true, 0)]));
    assert_eq!(answers(&way.ask_all(&[none, some])), (false, vec![(false, 0), (false, 0)]));
    assert!(!way.ask_all(&[none]).allowed());
}

#[test]
fn limit_of_zero_charges_nothing_beside_it() {
    let way = Way::new(TREE);
    let closed: Pairs<'_> = &[("closed", "x")];
    let decision = way.descriptors(&[closed, &[("database", "users")]]);
    assert_eq!(answers(&decision), (false, vec![(false, 0), (true, 2)]));
    assert_eq!((decision.status(), decision.retry_after_us()), (429, None));
    assert_eq!(denied_by(&decision), ["closed"]);
}

#[test]
fn same_entries_hold_to_both_amounts() {
    let way = Way::new("descriptors: [{ key: n, rate_limit: { unit: day, requests_per_unit: 5 } }]");
    let entries: Pairs<'_> = &[("n", "e")];
    let both = [Descriptor::new(entries), brings(entries, 9)];
    assert_eq!(answers(&way.ask_all(&both)), (true, vec![(true, 3), (true, 7)]), "both count on one counter");
    assert_eq!(answers(&way.ask_all(&both)), (true, vec![(true, 1), (true, 5)]));
    assert_eq!(answers(&way.ask_all(&both)), (false, vec![(false, 1), (true, 5)]), "6 of 5, and 6 of 9");
    let two = [brings(entries, 4), brings(entries, 9)];
    assert_eq!(answers(&way.ask_all(&two)), (false, vec![(false, 0), (true, 5)]));
}

#[test]
fn peek_passes_at_the_limit() {
    let way = Way::new(TREE);
    let peek =
        Descriptor { cost: Some(1), charging: Charging::Peek, ..Descriptor::new(&[("database", "users")]) };
    let take = Descriptor { cost: Some(2), ..Descriptor::new(&[("database", "users")]) };
    assert_eq!(answers(&way.ask_all(&[peek])), (true, vec![(true, 2)]));
    assert!(way.ask_all(&[take]).allowed());
    assert_eq!(answers(&way.ask_all(&[peek])), (true, vec![(true, 0)]), "count = limit");
}

#[test]
fn late_charge_counts_past_the_limit() {
    let mut way =
        Way::new("descriptors: [{ key: tokens, rate_limit: { unit: minute, requests_per_unit: 1000 } }]");
    let entries: Pairs<'_> = &[("tokens", "x")];
    let peek = [Descriptor { charging: Charging::Peek, ..Descriptor::new(entries) }];
    let late = [Descriptor { cost: Some(700), charging: Charging::Late, ..Descriptor::new(entries) }];
    assert!(way.ask_all(&peek).allowed() && way.ask_all(&late).allowed() && way.ask_all(&peek).allowed());
    assert!(!way.ask_all(&late).allowed());
    assert_eq!(answers(&way.ask_all(&peek)), (false, vec![(false, 0)]), "1400 of 1000 are used");
    way.pass(60);
    assert!(way.ask_all(&peek).allowed());
}

#[test]
fn descriptors_can_count_refused_requests() {
    let way = Way::new(
        "descriptors: [{ key: k, count_refused: true, rate_limit: { unit: minute, requests_per_unit: 2 } }]",
    );
    let entries: Pairs<'_> = &[("k", "x")];
    let peek = [Descriptor { charging: Charging::Peek, ..Descriptor::new(entries) }];
    let three = [Descriptor { cost: Some(3), ..Descriptor::new(entries) }];
    assert!(!way.ask_all(&three).allowed() && !way.ask_all(&peek).allowed());
}

#[test]
fn late_and_ordinary_charges_share_a_counter() {
    let way = Way::new(TREE);
    let entries: Pairs<'_> = &[("database", "users")];
    let late = Descriptor { cost: Some(1), charging: Charging::Late, ..Descriptor::new(entries) };
    assert_eq!(answers(&way.ask_all(&[late, Descriptor::new(entries)])), (true, vec![(true, 0), (true, 0)]));
}

#[test]
fn an_attribute_stands_for_one_entry() {
    let way = Way::new(TREE);
    assert!(way.check(&[("database", "users")]).allowed());
    assert!(way.descriptors(&[&[("database", "users")]]).allowed(), "both count together");
    let refused = way.check(&[("database", "users"), ("path", "/x")]);
    assert_eq!(denied_by(&refused), ["database=users"]);
    assert!(!way.check(&[("closed", "x")]).allowed());
    assert!(way.check(&[("shared", "a1")]).allowed());
    assert_eq!(way.check(&[("shared", "b1")]).limits().len(), 0);
}

#[test]
fn attributes_meet_leaves_only() {
    let way = Way::new(
        "descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 1 }
    descriptors:
      - { key: path, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: plan, rate_limit: { unit: minute, requests_per_unit: 5 } }
",
    );
    assert_eq!(way.check(&[("user", "a"), ("path", "/x")]).limits().len(), 0);
    assert_eq!(way.check(&[("user", "a"), ("plan", "free")]).limits().len(), 1);
    let check = Check {
        attributes: &[("plan", "free")],
        descriptors: &[Descriptor::new(&[("other", "x")])],
        ..Check::new("api")
    };
    assert_eq!(way.ask(&check).unwrap().limits().len(), 0, "its own descriptors say what is meant");
}

#[test]
fn a_shadow_limit_decides_no_refusal() {
    let way = Way::new(TREE);
    let all: &[&[(&str, &str)]] = &[&[("trial", "x")], &[("quota", "a")], &[("quota", "b")]];
    let refused = (0..4).map(|_| way.descriptors(all)).find(|decision| !decision.allowed()).unwrap();
    assert_eq!(refused.deciding_rule().map(|rule| &*rule.name), Some("quota=a"));
}

#[test]
fn shadow_quota_always_has_room() {
    let way = Way::new(
        "descriptors:
  - { key: q, value: used, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: q, value: trial, quota_mode: true, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }
",
    );
    let both: [Pairs<'_>; 2] = [&[("q", "used")], &[("q", "trial")]];
    assert!((0..3).all(|_| way.descriptors(&both).allowed()));
    assert!(!way.descriptors(&both[..1]).allowed());
}

#[test]
fn late_charge_counts_on_a_shared_counter() {
    let way =
        Way::new("descriptors: [{ key: tokens, rate_limit: { unit: minute, requests_per_unit: 1000 } }]");
    let entries: Pairs<'_> = &[("tokens", "x")];
    let peek = Descriptor { charging: Charging::Peek, ..Descriptor::new(entries) };
    let late = Descriptor { cost: Some(700), charging: Charging::Late, ..Descriptor::new(entries) };
    assert!(way.ask_all(&[peek, late]).allowed());
    assert!(!way.ask_all(&[peek, late]).allowed());
    assert_eq!(answers(&way.ask_all(&[peek])), (false, vec![(false, 0)]), "1400 of 1000");
}

#[test]
fn replayed_refusals_give_nothing_back() {
    let way = Way::new(
        "descriptors:
  - { key: q, value: none, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: user, rate_limit: { unit: day, requests_per_unit: 10 } }
",
    );
    let user: Pairs<'_> = &[("user", "a")];
    assert!((0..4).all(|_| way.descriptors(&[user]).allowed()));
    let descriptors = [Descriptor::new(&[("q", "none")]), Descriptor::new(user)];
    let check = Check { descriptors: &descriptors, idempotency_key: Some("once"), ..Check::new("api") };
    assert!((0..5).all(|_| !way.ask(&check).unwrap().allowed()));
    assert_eq!(answers(&way.descriptors(&[user])), (true, vec![(true, 5)]));
}

#[test]
fn contradicting_claims_are_found_beside_a_tree() {
    let way = Way::new(
        "identities: { api_key: { derive: org, map: { k1: acme } } }
descriptors: [{ key: org, rate_limit: { unit: day, requests_per_unit: 1 } }]",
    );
    let claims: [&[(&str, &str)]; 2] = [&[("api_key", "k1"), ("org", "acme")], &[("org", "evil")]];
    let descriptors = claims.map(Descriptor::new);
    let check = Check { descriptors: &descriptors, ..Check::new("api") };
    assert!(matches!(way.ask(&check), Err(Malformed::Contradiction { .. })));
}
