use super::*;

#[test]
fn a_domain_without_rules_lets_everything_pass() {
    let way = Way::new("rules: []");
    assert_eq!(way.check(&[("user", "a")]).reason(), "ok");
    let decision = way.ask(&Check::new("elsewhere")).unwrap();
    assert_eq!((decision.outcome, decision.reason().as_ref()), (Outcome::Allow, "no-such-domain"));
    assert_ne!(decision.id, tidegate_core::Ticket::default(), "every decision has a name");
}

#[test]
fn all_limits_of_a_request_are_charged_together_or_not_at_all() {
    let way = Way::new(
        "rules:
  - { name: per-user, by: [user], limit: 2/min }
  - { name: everyone, limit: 3/min }",
    );
    assert_eq!(way.passing(&[("user", "a")]), 2);
    let refused = way.check(&[("user", "a")]);
    assert_denied(&refused, "per-user", "user-rate");
    assert_eq!(
        remaining(&refused),
        [("per-user".into(), 0), ("everyone".into(), 1)],
        "not charged by the refusal"
    );
    assert_eq!(way.passing(&[("user", "b")]), 1);
    assert_denied(&way.check(&[("user", "b")]), "everyone", "global-rate");
}

#[test]
fn a_rule_needs_what_it_counts_by() {
    let way = Way::new("rules: [{ name: per-user, by: [user], limit: 1/min }]");
    assert_eq!(way.check(&[]).limits().len(), 0);
}

#[test]
fn addresses_of_one_network_are_one_client() {
    let way = Way::new("rules: [{ name: per-ip, by: [ip], limit: 1/min }]");
    assert!(way.allows(&[("ip", "2001:db8::1")]));
    assert_denied(&way.check(&[("ip", "2001:db8::2")]), "per-ip", "ip-rate");
    assert!(way.allows(&[("ip", "192.0.2.1")]));
    assert!(!way.allows(&[("ip", "::ffff:192.0.2.1")]));
}

#[test]
fn captures_of_alternatives_are_counted_by() {
    let way = Way::new(
        "rules:
  - { name: any, match: { any: [{ path: \"/v1/{id}\" }, { path: \"/v2/{id}/**\" }] }, by: [id], limit: 1/min }
  - { name: failures, count: { path: \"/v3/{id}\", outcome: failed }, by: [id], limit: 1/min }",
    );
    assert!(way.allows(&[("path", "/v1/a")]));
    assert!(!way.allows(&[("path", "/v2/a/x")]), "one counter for the value, wherever it stands");
    assert!(way.allows(&[("path", "/v2/b")]));
    assert!(way.allows(&[("path", "/v3/a")]) && way.allows(&[("path", "/v3/a")]), "only failures count");
    assert!(way.allows(&[("path", "/v3/a"), ("outcome", "failed")]));
    assert_denied(&way.check(&[("path", "/v3/a")]), "failures", "id-rate");
    assert!(way.allows(&[("path", "/v3/b")]));
}

#[test]
fn a_group_is_left_without_a_capture() {
    let way = Way::new(
        "rules:
  - { name: per-id, group: g, priority: 1, match: { path: [\"/v1/{id}\", \"/v1\"] }, by: [id], limit: 9/min }
  - { name: rest, group: g, limit: 1/min }",
    );
    assert_eq!(way.passing(&[("path", "/v1/a")]), 9);
    assert_eq!(way.passing(&[("path", "/v1")]), 1);
}

#[test]
fn captures_are_counted_by() {
    let way = Way::new(
        "rules: [{ name: per-intent, match: { path: \"/v1/intents/{id}\" }, by: [id], limit: 1/min }]",
    );
    assert!(way.allows(&[("path", "/v1/intents/1")]));
    assert!(way.allows(&[("path", "/v1/intents/2")]));
    assert_denied(&way.check(&[("path", "/v1/intents/1")]), "per-intent", "endpoint-rate");
    assert!(way.allows(&[("path", "/v1/other/1")]));
}

#[test]
fn several_limits_of_a_rule_have_names_of_their_own() {
    let mut way = Way::new("rules: [{ name: per-key, by: [api_key], limits: [1/s, 2/h] }]");
    assert_eq!(
        remaining(&way.check(&[("api_key", "k")])),
        [("per-key:s".into(), 0), ("per-key:h".into(), 1)]
    );
    way.pass(2);
    assert!(way.allows(&[("api_key", "k")]));
    way.pass(2);
    let refused = way.check(&[("api_key", "k")]);
    assert_eq!(refused.deciding_limit().unwrap().policy(), "per-key:h", "the longest wait decides");
    assert!(refused.retry_after_us().unwrap() > 1_000 * SECOND);
}

#[test]
fn a_bypass_goes_before_all_and_a_block_says_so() {
    let way = Way::new(
        "rules:
  - { name: health, match: { path: /healthz }, action: bypass }
  - { name: bad-bots, match: { bot_score: '< 30' }, action: block, message: no bots }
  - { name: everyone, limit: 1/min }",
    );
    for _ in 0..3 {
        let decision = way.check(&[("path", "/healthz")]);
        assert_eq!((decision.outcome, decision.reason().as_ref()), (Outcome::Allow, "bypassed"));
    }
    let blocked = way.check(&[("bot_score", "7"), ("path", "/x")]);
    assert_denied(&blocked, "bad-bots", "blocked");
    assert_eq!((blocked.status(), blocked.retry_after_us()), (403, None));
    assert_eq!(way.passing(&[("path", "/x")]), 1, "neither was charged");
}

#[test]
fn of_a_group_only_the_first_applies() {
    let way = Way::new(
        "rules:
  - { name: default, group: plan, limit: 1/min, by: [user] }
  - { name: orders, group: plan, match: { path: /orders }, limit: 3/min, by: [user] }
  - { name: vip, group: plan, priority: 5, match: { user: root }, action: unlimited }",
    );
    assert_eq!(way.passing(&[("user", "a"), ("path", "/orders")]), 3, "the more specific");
    assert_eq!(way.passing(&[("user", "a"), ("path", "/x")]), 1);
    assert_eq!(way.passing(&[("user", "root"), ("path", "/orders")]), 20, "the higher priority");
}

#[test]
fn a_rule_that_cannot_count_leaves_its_group_to_the_next() {
    let way = Way::new(
        "rules:
  - { name: per-user, group: who, priority: 10, by: [user], limit: 5/min }
  - { name: per-ip, group: who, by: [ip], limit: 2/min }",
    );
    assert_eq!(way.passing(&[("ip", "192.0.2.1")]), 2, "there is no user to count by");
    assert_eq!(way.passing(&[("ip", "192.0.2.2"), ("user", "a")]), 5);
}

#[test]
fn the_shadow_does_not_take_a_group_and_neither_does_what_only_counts() {
    let way = Way::new(
        "rules:
  - { name: trial, group: one, priority: 10, mode: shadow, limit: 9/min }
  - { name: counts, group: one, priority: 5, match: { kind: read }, count: { kind: write }, limit: 9/min }
  - { name: real, group: one, limit: 2/min }",
    );
    assert_eq!(way.passing(&[("kind", "write")]), 2);
    let decision = way.check(&[("kind", "write")]);
    assert!(decision.limits().any(|view| view.policy() == "trial"), "it is judged beside the group");
}

#[test]
fn a_query_does_not_lead_around_a_rule() {
    let way = Way::new(
        "rules:
  - { name: login, match: { path: /login }, limit: 2/min }
  - { name: debug, match: { query: { debug: '1' } }, limit: 1/min }",
    );
    assert!(way.allows(&[("path", "/login?x=1")]));
    assert!(way.allows(&[("path", "/login#top")]));
    assert!(!way.allows(&[("path", "/login")]));
    assert!(way.allows(&[("path", "/x?a&debug=1")]));
    assert_denied(&way.check(&[("path", "/y?debug=1&b=2#c")]), "debug", "global-rate");
}

#[test]
fn headers_have_no_case() {
    let way = Way::new("rules: [{ name: team, by: [header.X-Team], limit: 1/min }]");
    assert!(way.allows(&[("header.X-Team", "a")]));
    assert!(!way.allows(&[("Header.x-team", "a")]));
}

#[test]
fn long_values_are_told_apart_and_never_too_long() {
    let way = Way::new("rules: [{ name: a, by: [user, session], limit: 1/min }]");
    let (one, other) = (format!("{}1", "x".repeat(8_000)), format!("{}2", "x".repeat(8_000)));
    assert!(way.allows(&[("user", &one), ("session", &other)]));
    assert!(way.allows(&[("user", &other), ("session", &one)]));
    assert!(!way.allows(&[("user", &one), ("session", &other)]));
}

#[test]
fn a_limit_called_block_is_not_the_gate() {
    let way = Way::new("rules: [{ name: a, block_for: 1m, limits: [{ name: block, amount: 2, per: 1s }] }]");
    assert_eq!(way.passing(&[]), 2);
    assert_eq!(way.check(&[]).reason(), "blocked");
}

#[test]
fn a_closed_gate_refuses_what_costs_nothing_too() {
    let way =
        Way::new("rules: [{ name: a, block_for: 1m, limit: 1/s, cost: { methods: { GET: 0, POST: 1 } } }]");
    assert_eq!(way.passing(&[("method", "POST")]), 1);
    assert!(!way.allows(&[("method", "GET")]));
}

#[test]
fn more_limits_than_a_plan_holds_are_decided_by_class() {
    let rule = |n: usize| format!("{{ name: r{n}, by: [user], match: {{ user: a }}, limit: 9/min }}");
    let rules: Vec<String> = (0..70).map(rule).collect();
    let way = Way::new(&format!("rules: [{}]", rules.join(", ")));
    let decision = way.check(&[("user", "a")]);
    assert_eq!((decision.outcome, decision.reason().as_ref()), (Outcome::Allow, "undecided"));
    let way = Way::new(&format!("defaults: {{ class: security }}\nrules: [{}]", rules.join(", ")));
    assert_eq!(way.check(&[("user", "a")]).status(), 503);
}

#[test]
fn the_shadow_is_judged_and_never_refuses() {
    let way = Way::new(
        "rules:
  - { name: trial, mode: shadow, limit: 1/min }
  - { name: ghost, mode: off, limit: 1/min }
  - { name: real, limit: 3/min }",
    );
    let decisions: Vec<Decision> = (0..4).map(|_| way.check(&[])).collect();
    assert_eq!(decisions.iter().map(Decision::allowed).collect::<Vec<_>>(), [true, true, true, false]);
    let trial = decisions[1].limits().find(|view| view.policy() == "trial").unwrap();
    assert!(!trial.allows() && !trial.refuses());
    assert_eq!(denied_by(&decisions[3]), ["real"]);
    assert!(decisions[0].limits().all(|view| view.policy() != "ghost"));
}

#[test]
fn past_a_limit_that_degrades_requests_pass_with_less() {
    let way = Way::new("rules: [{ name: search, action: degrade, limit: 1/min }]");
    assert_eq!(way.check(&[]).outcome, Outcome::Allow);
    let second = way.check(&[]);
    assert_eq!((second.outcome, second.reason().as_ref()), (Outcome::Degrade, "global-rate"));
    assert_eq!(second.deciding_rule().map(|rule| &*rule.name), Some("search"));
}

#[test]
fn past_a_rate_that_delays_requests_wait() {
    let way = Way::new("rules: [{ name: smooth, action: delay, limit: 1/s burst 3 }]");
    assert_eq!(way.check(&[]).outcome, Outcome::Allow);
    let second = way.check(&[]);
    assert_eq!((second.outcome, second.delay_us), (Outcome::Delay, SECOND));
    assert_eq!(way.check(&[]).outcome, Outcome::Delay);
    assert_eq!(way.check(&[]).outcome, Outcome::Deny);
}

#[test]
fn a_rule_that_blocks_keeps_its_gate_closed() {
    let mut way = Way::new("rules: [{ name: login, by: [ip], limit: 2/s, block_for: 10m }]");
    assert_eq!(way.passing(&[("ip", "192.0.2.1")]), 2);
    way.pass(1);
    let blocked = way.check(&[("ip", "192.0.2.1")]);
    assert_denied(&blocked, "login", "blocked");
    assert_eq!(blocked.retry_after_us(), Some(599 * SECOND));
    assert!(way.allows(&[("ip", "192.0.2.2")]));
    way.pass(599);
    assert!(way.allows(&[("ip", "192.0.2.1")]), "it opens by itself");
}

#[test]
fn refused_requests_count_if_the_rule_says_so() {
    let mut way = Way::new(
        "rules: [{ name: login, by: [user], count_refused: true, limit: { amount: 2, per: 1m, algorithm: sliding_window } }]",
    );
    let (hammering, pausing) = ([("user", "a")], [("user", "b")]);
    assert_eq!([way.passing(&hammering), way.passing(&pausing)], [2, 2]);
    for second in 1..=180 {
        way.pass(1);
        assert!(!way.allows(&hammering), "each refusal counts, {second} s on");
    }
    assert!(way.allows(&pausing), "who pauses is admitted");
    way.pass(120);
    assert!(way.allows(&hammering), "and so is who stops hammering");
}

#[test]
fn what_counts_and_what_is_held_to_it_may_differ() {
    let way = Way::new(
        "rules: [{ name: failures, by: [ip], match: { path: /login }, count: { path: /login, failed: 'true' }, limit: 2/min }]",
    );
    let (try_it, failed) = (
        [("ip", "192.0.2.1"), ("path", "/login")],
        [("ip", "192.0.2.1"), ("path", "/login"), ("failed", "true")],
    );
    assert_eq!(way.passing(&try_it), 20, "only failures count");
    assert_eq!(way.passing(&failed), 2);
    assert!(!way.allows(&try_it), "and all attempts are held to it");
    let counted = way.check(&[("ip", "192.0.2.9"), ("path", "/login"), ("failed", "true")]);
    assert!(counted.allowed());
}

#[test]
fn what_only_counts_is_never_refused() {
    let way =
        Way::new("rules: [{ name: writes, match: { kind: read }, count: { kind: write }, limit: 2/min }]");
    assert_eq!(way.passing(&[("kind", "write")]), 20);
    assert!(!way.allows(&[("kind", "read")]));
}

#[test]
fn costs_come_from_rules_and_checks() {
    let way = Way::new(
        "rules:
  - { name: points, by: [user], limit: 10/min, cost: { methods: { GET: 1, POST: 5 } } }
  - { name: tokens, by: [model], limit: 1000/min, cost: tokens }",
    );
    assert_eq!(way.passing(&[("user", "a"), ("method", "POST")]), 2);
    assert_eq!(way.passing(&[("user", "b"), ("method", "GET")]), 10);
    assert_eq!(remaining(&way.check(&[("model", "m"), ("tokens", "300")])), [("tokens".into(), 700)]);
    let twice = Check { attributes: &[("model", "m"), ("tokens", "300")], cost: 2, ..Check::new("api") };
    assert_eq!(remaining(&way.ask(&twice).unwrap()), [("tokens".into(), 100)]);
    let peek = Check { attributes: &[("model", "m")], cost: 0, ..Check::new("api") };
    assert_eq!(remaining(&way.ask(&peek).unwrap()), [("tokens".into(), 100)]);
}

#[test]
fn rules_apply_in_their_time_only() {
    let mut way = Way::new(
        "rules:
  - { name: office, when: { hours: '09:00-17:00', days: mon-fri }, limit: 1/min }
  - { name: sale, expires_at: 2026-09-28T13:00:00Z, action: unlimited, group: a, priority: 1 }",
    );
    assert_eq!(way.passing(&[]), 1);
    way.pass(5 * 3600);
    assert_eq!(way.passing(&[]), 20);
}

#[test]
fn calendar_windows_start_with_the_calendar() {
    let mut way = Way::new("rules: [{ name: quota, by: [org], limit: 2/month tz Europe/Berlin from 15 }]");
    assert_eq!(way.passing(&[("org", "acme")]), 2);
    let refused = way.check(&[("org", "acme")]);
    assert_denied(&refused, "quota", "org-quota");
    let wait = refused.retry_after_us().unwrap() / SECOND;
    way.pass(wait - 1);
    assert!(!way.allows(&[("org", "acme")]));
    way.pass(1);
    assert!(way.allows(&[("org", "acme")]));
}

#[test]
fn counters_survive_a_reload_and_a_renaming() {
    let way = Way::new("rules: [{ name: per-user, by: [user], limit: 2/min }]");
    assert_eq!(way.passing(&[("user", "a")]), 2);
    way.install("rules: [{ name: per-account, was: per-user, by: [user], limit: 3/min }]");
    let decision = way.check(&[("user", "a")]);
    assert!(decision.allowed(), "a raised limit unblocks at once");
    assert_eq!((decision.version, remaining(&decision)), (2, vec![("per-account".into(), 0)]));
}

#[test]
fn conditions_combine() {
    let way = Way::new(
        "rules: [{ name: r, limit: 1/min, match: { any: [{ plan: free }, { headers: { X-Trial: { present: true } } }], not: { ip: 10.0.0.0/8 } } }]",
    );
    let applies = |attributes: Pairs<'_>| way.check(attributes).limits().len() == 1;
    assert!(applies(&[("plan", "free")]));
    assert!(applies(&[("plan", "pro"), ("header.x-trial", "1")]));
    assert!(!applies(&[("plan", "pro")]));
    assert!(!applies(&[("plan", "free"), ("ip", "10.1.1.1")]));
}

#[test]
fn decisions_are_counted_by_rule() {
    use tidegate_engine::observe::Came;
    let way = Way::new("rules: [{ name: a, limit: 1/min }, { name: b, mode: shadow, limit: 1/min }]");
    (0..3).for_each(|_| drop(way.check(&[])));
    let counts = |rule: &str, came| {
        let all = way.engine.observed().rules();
        all.iter().find(|(_, name, _)| **name == *rule).map(|(_, _, counts)| counts.get(came))
    };
    assert_eq!(counts("a", Came::Allowed), Some(1));
    assert_eq!(counts("a", Came::Denied), Some(2));
    assert_eq!(counts("b", Came::ShadowDenied), Some(2), "judged, whatever the others say");
    assert_eq!(way.engine.observed().outcome(Outcome::Deny), 2);
}
