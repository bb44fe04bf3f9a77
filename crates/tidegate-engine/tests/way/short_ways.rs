use super::*;
use std::time::Duration;
use tidegate_engine::{Settled, Used};
use tidegate_store::Hold;

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn slots_are_given_back_by_the_decisions_id() {
    let mut way = Way::new("rules: [{ name: exports, by: [user], limit: { slots: 2, term: 30s } }]");
    let (first, second) = (way.check(&[("user", "a")]), way.check(&[("user", "a")]));
    assert!(first.holds && second.holds);
    assert_denied(&way.check(&[("user", "a")]), "exports", "user-concurrency");
    assert_eq!(wait(way.engine.release(first.id, way.now)), Settled::Done);
    assert_eq!(wait(way.engine.release(first.id, way.now)), Settled::Gone);
    assert!(way.allows(&[("user", "a")]));
    way.pass(20);
    assert_eq!(wait(way.engine.renew(second.id, way.now)), Ok(Some(way.now.plus_us(30 * SECOND))));
    way.pass(20);
    assert_eq!(way.passing(&[("user", "a")]), 1, "one ended, one was renewed");
    way.pass(60);
    assert_eq!(wait(way.engine.renew(second.id, way.now)), Ok(None));
}

#[test]
fn a_way_that_does_not_fit_leaves_a_hold_alone() {
    let way = Way::new("rules: [{ name: exports, by: [user], limit: 1 concurrent }]");
    let held = way.check(&[("user", "a")]);
    assert_eq!(wait(way.engine.cancel(held.id, way.now)), Settled::Gone);
    assert_eq!(wait(way.engine.commit(held.id, Used::Cost(1), way.now)), Ok(Settled::Gone));
    assert_eq!(wait(way.engine.release(held.id, way.now)), Settled::Done);
}

#[test]
fn ids_cannot_be_guessed() {
    let way = Way::new("rules: [{ name: a, limit: 9/min }]");
    let ids: Vec<u128> = (0..3).map(|_| way.check(&[]).id.0 >> 64).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
}

#[test]
fn slots_that_only_the_shadow_refused_do_not_end_a_holder() {
    let way = Way::new(
        "rules: [{ name: real, limit: 9 concurrent }, { name: trial, mode: shadow, limit: 1 concurrent }]",
    );
    let (first, second) = (way.check(&[]), way.check(&[]));
    for id in [first.id, second.id] {
        assert!(wait(way.engine.renew(id, way.now)).unwrap().is_some());
        assert_eq!(wait(way.engine.release(id, way.now)), Settled::Done);
    }
}

#[test]
fn reservations_are_settled_at_what_they_cost() {
    let way = Way::new("rules: [{ name: tokens, by: [user], limit: 100/min, cost: 2 }]");
    let left = || {
        remaining(
            &wait(way.engine.peek(&Check { attributes: &[("user", "a")], ..Check::new("api") }, way.now))
                .unwrap(),
        )[0]
        .1
    };
    let reserve = |cost| {
        let check = Check { attributes: &[("user", "a")], cost, ..Check::new("api") };
        wait(way.engine.reserve(&check, Hold::lasting(MINUTE), way.now)).unwrap()
    };
    let first = reserve(20);
    assert_eq!(left(), 60);
    assert_eq!(wait(way.engine.commit(first.id, Used::Cost(5), way.now)), Ok(Settled::Done));
    assert_eq!(left(), 90);
    assert_eq!(wait(way.engine.commit(first.id, Used::Cost(5), way.now)), Ok(Settled::Gone));
    let second = reserve(10);
    assert_eq!(wait(way.engine.cancel(second.id, way.now)), Settled::Done);
    assert_eq!(left(), 90);
    assert!(!reserve(46).allowed());
}

#[test]
fn a_peek_changes_nothing_and_tells_what_would_be() {
    let way = Way::new("rules: [{ name: per-user, by: [user], limit: 1/min }]");
    let check = Check { attributes: &[("user", "a")], ..Check::new("api") };
    let peek = || wait(way.engine.peek(&check, way.now)).unwrap().allowed();
    assert!(peek() && peek());
    assert!(way.allows(&[("user", "a")]));
    assert!(!peek());
}

#[test]
fn a_refund_gives_back() {
    let way = Way::new("rules: [{ name: per-user, by: [user], limit: 2/min }]");
    let check = Check { attributes: &[("user", "a")], ..Check::new("api") };
    assert_eq!(way.passing(&[("user", "a")]), 2);
    let refunded = wait(way.engine.refund(&check, way.now, way.now)).unwrap();
    assert_eq!(remaining(&refunded), [("per-user".into(), 1)]);
    assert_eq!(way.passing(&[("user", "a")]), 1);
    assert_eq!(wait(way.engine.reset(&check, way.now)), Ok(Ok(1)));
    assert_eq!(way.passing(&[("user", "a")]), 2);
}

#[test]
fn a_refund_of_more_than_was_charged_asks_for_nothing() {
    let way = Way::new("rules: [{ name: per-user, by: [user], limit: 2/min }]");
    assert_eq!(way.passing(&[("user", "a")]), 2);
    let check = Check { attributes: &[("user", "a")], cost: 9, ..Check::new("api") };
    let refunded = wait(way.engine.refund(&check, way.now, way.now)).unwrap();
    assert_eq!(remaining(&refunded), [("per-user".into(), 2)]);
    assert!(refunded.allowed() && refunded.limits().all(|view| view.allows()));
}

#[test]
fn the_same_check_delivered_twice_is_charged_once() {
    let way = Way::new("rules: [{ name: per-user, by: [user], limit: 9/min }]");
    let check = |user, key| Check { attributes: user, idempotency_key: Some(key), ..Check::new("api") };
    let (a, b): (Pairs<'_>, Pairs<'_>) = (&[("user", "a")], &[("user", "b")]);
    let first = way.ask(&check(a, "one")).unwrap();
    let again = way.ask(&check(a, "one")).unwrap();
    assert!(!first.replayed && again.replayed);
    assert_eq!((first.id, remaining(&first)), (again.id, remaining(&again)));
    assert_eq!(way.ask(&check(b, "one")).unwrap_err(), Malformed::IdempotencyConflict);
}

#[test]
fn a_delivery_after_a_reload_is_still_the_same_check() {
    let way = Way::new("rules: [{ name: per-user, by: [user], limit: 1/min }]");
    let check = Check { attributes: &[("user", "a")], idempotency_key: Some("one"), ..Check::new("api") };
    let first = way.ask(&check).unwrap();
    way.install("rules: [{ name: renamed, by: [user], limit: 1/min }, { name: further, limit: 1/min }]");
    let again = way.ask(&check).unwrap();
    assert!(again.replayed && again.allowed() && again.id == first.id && again.limits().len() == 0);
    assert_eq!(way.passing(&[("user", "a")]), 1, "the second delivery was charged");
}

/// A model's limits: requests and tokens a minute, and streams at a time.
const MODEL: &str = "rules:
  - { name: rpm, by: [user], limit: 60/min }
  - { name: tpm, by: [user], limit: 10000/min, cost: { attribute: tokens, most: 1000000 } }
";

impl Way {
    fn left(&self) -> Vec<u64> {
        let check = Check { attributes: &[("user", "a")], cost: 0, ..Check::new("api") };
        let peeked = wait(self.engine.peek(&check, self.now)).expect("a sound check");
        peeked.limits().map(|view| view.verdict.remaining).collect()
    }

    fn reserve(&self, attributes: Pairs<'_>) -> Decision {
        let check = Check { attributes, ..Check::new("api") };
        wait(self.engine.reserve(&check, Hold::lasting(MINUTE), self.now)).expect("a sound check")
    }

    fn commit(&self, id: tidegate_core::Ticket, used: Used<'_>) -> Result<Settled, Malformed> {
        wait(self.engine.commit(id, used, self.now))
    }
}

#[test]
fn commit_by_attributes_measures_anew() {
    let way = Way::new(MODEL);
    let held = way.reserve(&[("user", "a"), ("tokens", "1000")]);
    assert_eq!(way.left(), [59, 9_000]);
    assert_eq!(way.commit(held.id, Used::Attributes(&[("tokens", "400")])), Ok(Settled::Done));
    assert_eq!(way.left(), [59, 9_600]);
}

#[test]
fn commit_cost_replaces_the_estimate() {
    let way = Way::new(MODEL);
    let held = way.reserve(&[("user", "a"), ("tokens", "1000")]);
    assert_eq!(way.commit(held.id, Used::Cost(400)), Ok(Settled::Done));
    assert_eq!(way.left(), [59, 9_600]);
    let held = way.reserve(&[("user", "a")]);
    assert_eq!(way.commit(held.id, Used::Attributes(&[("tokens", "600")])), Ok(Settled::Done));
    assert_eq!(way.left(), [58, 9_000], "without an estimate");
}

#[test]
fn commit_that_cannot_be_read_keeps_the_reservation() {
    let way = Way::new(MODEL);
    let held = way.reserve(&[("user", "a"), ("tokens", "1000")]);
    let refused = way.commit(held.id, Used::Attributes(&[("tokns", "400")])).unwrap_err().to_string();
    assert!(refused.contains("its rules read tokens"), "{refused}");
    let refused = way.commit(held.id, Used::Attributes(&[("tokens", "-5")])).unwrap_err();
    assert_eq!(refused, Malformed::UnreadableCost { attribute: "tokens".into() });
    assert_eq!(way.commit(held.id, Used::Attributes(&[("tokens", "400")])), Ok(Settled::Done));
    assert_eq!(way.left(), [59, 9_600]);
}

#[test]
fn refund_of_tokens_keeps_the_request() {
    let way = Way::new(&format!("{MODEL}  - {{ name: streams, by: [user], limit: 2 concurrent }}\n"));
    assert!(way.check(&[("user", "a"), ("tokens", "1000")]).allowed());
    let check = Check { attributes: &[("user", "a"), ("tokens", "600")], ..Check::new("api") };
    assert!(wait(way.engine.refund(&check, way.now, way.now)).unwrap().allowed());
    assert_eq!(way.left(), [59, 9_600, 1]);
}

#[test]
fn unreadable_cost_is_decided_by_class() {
    let rules = |class: &str| {
        format!("rules: [{{ name: tpm, by: [user], limit: 10/min, cost: tokens, class: {class} }}]")
    };
    for tokens in ["lots", "-5", "1.5", ""] {
        let attributes = [("user", "a"), ("tokens", tokens)];
        let way = Way::new(&rules("comfort"));
        assert_eq!(remaining(&way.check(&attributes))[0].1, 9, "the default is charged");
        let counts = way.engine.observed().rules();
        assert_eq!(counts[0].2.unreadable_cost(), 1);
        let way = Way::new(&rules("security"));
        let refused = way.ask(&Check { attributes: &attributes, ..Check::new("api") }).unwrap_err();
        assert_eq!(refused, Malformed::UnreadableCost { attribute: "tokens".into() });
    }
}

#[test]
fn absent_keys_are_counted() {
    let way =
        Way::new("rules: [{ name: per-key, by: [api_key], limit: 1/min }, { name: all, limit: 9/min }]");
    assert!(way.allows(&[]) && way.allows(&[("api_key", "k")]));
    let counts = way.engine.observed().rules();
    let (_, _, counts) = counts.iter().find(|(_, rule, _)| **rule == *"per-key").unwrap();
    assert_eq!((counts.key_absent(), counts.total()), (1, 1));
}

#[test]
fn commit_is_not_held_to_the_bound_of_estimates() {
    let way = Way::new(
        "rules: [{ name: tpm, by: [user], limit: 10000/min, cost: { attribute: tokens, most: 50 } }]",
    );
    for used in [Used::Attributes(&[("tokens", "900")]), Used::Cost(900)] {
        let held = way.reserve(&[("user", "a"), ("tokens", "1000")]);
        assert_eq!(way.commit(held.id, used), Ok(Settled::Done));
    }
    assert_eq!(way.left(), [8_200]);
}

#[test]
fn whole_numbers_may_have_a_fraction_of_zero() {
    let way = Way::new(
        "rules: [{ name: tpm, by: [user], limit: 10000/min, cost: { attribute: tokens, most: 5000 } }]",
    );
    for (tokens, left) in
        [("400.0", 9_600), (" 7 ", 9_593), ("99999999999999999999999", 4_593), ("1.", 4_592)]
    {
        assert!(way.allows(&[("user", "a"), ("tokens", tokens)]));
        assert_eq!(way.left(), [left], "{tokens}");
    }
}

#[test]
fn refund_of_an_unreadable_cost_is_an_error() {
    let way = Way::new(
        "rules: [{ name: tpm, by: [user], limit: 100/min, cost: { attribute: tokens, default: 10 } }]",
    );
    assert!(way.allows(&[("user", "a"), ("tokens", "50")]));
    let check = Check { attributes: &[("user", "a"), ("tokens", "lots")], ..Check::new("api") };
    assert!(matches!(
        wait(way.engine.refund(&check, way.now, way.now)),
        Err(Malformed::UnreadableCost { .. })
    ));
    assert_eq!(way.left(), [50]);
}
