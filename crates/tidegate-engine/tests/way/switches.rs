use super::*;
use std::time::Duration;

use tidegate_engine::explain::{Part, explain};
use tidegate_engine::{Consistency, Override};
use tidegate_rules::rule::Mode;
use tidegate_rules::switch::Switches;

const RULES: &str = "rules:
  - { name: a, by: [user], limit: 1/min }
  - { name: b, by: [user], limit: 2/min, class: security }
descriptors:
  - { key: database, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: banned, rate_limit: { unit: hour, requests_per_unit: 0 } }
";

/// One mode for one rule, or for all and for what comes with descriptors.
struct To(Option<&'static str>, Mode);

impl Switches for To {
    fn mode(&self, _domain: &str, rule: Option<&str>) -> Option<Mode> {
        (self.0.is_none() || self.0 == rule).then_some(self.1)
    }
}

fn switched(to: &To) -> Way {
    let way = Way::new(RULES);
    let text = format!("domain: api\n{RULES}");
    let mut snapshot = compile(vec![Source::new("api.yaml", text)]).snapshot.expect("good rules");
    snapshot.switch(to);
    way.engine.install(snapshot.with_version(2));
    way
}

#[test]
fn a_rule_that_is_switched_off_is_as_if_it_were_not_there() {
    let way = switched(&To(Some("a"), Mode::Off));
    let first = way.check(&[("user", "ada")]);
    assert_eq!((first.version, remaining(&first)), (2, vec![("b".to_owned(), 1)]));
    assert_eq!(way.passing(&[("user", "ada")]), 1, "the other still counts");
}

#[test]
fn a_rule_in_the_shadow_is_reported_and_refuses_nobody() {
    let way = switched(&To(Some("a"), Mode::Shadow));
    way.check(&[("user", "ada")]);
    let second = way.check(&[("user", "ada")]);
    let modes: Vec<_> = second.limits().map(|view| (view.rule_name(), view.mode(), view.allows())).collect();
    assert!(second.allowed());
    assert_eq!(modes, [("b", Mode::Enforce, true), ("a", Mode::Shadow, false)]);
}

#[test]
fn everything_off_is_everything_descriptors_and_what_they_bring_along_included() {
    let limit = Some(Override { amount: 1, per: Duration::from_secs(3600) });
    let asked: [(Pairs<'_>, _); 3] =
        [(&[("database", "users")], None), (&[("banned", "yes")], None), (&[("x", "y")], limit)];
    for (entries, limit) in asked {
        let descriptors = [Descriptor { limit, ..Descriptor::new(entries) }];
        let check = Check { descriptors: &descriptors, ..Check::new("api") };
        let passes = |way: &Way| (0..3).filter(|_| way.ask(&check).is_ok_and(|one| one.allowed())).count();
        let written = passes(&Way::new(RULES));
        assert!(written <= 1, "{entries:?}");
        assert_eq!(passes(&switched(&To(None, Mode::Off))), 3, "{entries:?}");
        let way = switched(&To(None, Mode::Shadow));
        assert_eq!(passes(&way), 3, "{entries:?}");
        let told = way.ask(&check).expect("a sound check");
        assert!(told.limits().all(|view| view.mode() == Mode::Shadow && !view.enforced));
    }
    assert_eq!(switched(&To(None, Mode::Off)).passing(&[("user", "ada")]), 20);
}

#[test]
fn what_is_off_has_no_say_when_nobody_can_count_either() {
    let overload = |way: &Way| way.engine.overloaded(&Check::new("api"), START).expect("a sound check");
    assert_eq!(overload(&Way::new(RULES)).outcome, Outcome::Shed);
    let passed = overload(&switched(&To(Some("b"), Mode::Off)));
    assert_eq!((passed.outcome, passed.state), (Outcome::Allow, Consistency::Open));
}

#[test]
fn an_explanation_says_what_was_switched() {
    let way = switched(&To(Some("a"), Mode::Off));
    let check = Check { attributes: &[("user", "ada")], ..Check::new("api") };
    let said = explain(&check, &way.engine.snapshot(), START).expect("a sound check");
    assert_eq!(said.rules[0].switched_to, Some(Mode::Off));
    assert_eq!(said.rules[0].part, Part::Not("it is switched off".to_owned()));
    assert_eq!(said.rules[1].switched_to, None);
}
