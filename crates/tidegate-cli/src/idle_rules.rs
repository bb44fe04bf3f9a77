//! `tidegate validate --server`: rules of a running server that do nothing, by its metrics.

use std::collections::BTreeMap;

use anyhow::anyhow;
use serde_json::{Value, json};

use crate::ask::Client;
use crate::exit::Failure;
use crate::output::{Format, print};

const DECISIONS: &str = "ratelimit_decisions_total";
const KEY_ABSENT: &str = "ratelimit_rule_key_absent_total";

/// Rules beyond the busiest are summed under this name.
const OTHER: &str = "other";

/// A domain and a rule.
type Name = (String, String);

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
struct Idle {
    /// Rules without any decision since the server started.
    never_matched: Vec<Name>,
    /// Rules that the server does not count apart, so that nothing is known of them.
    unknown: Vec<Name>,
    /// Requests that a rule would have counted if they had had its key; `None` if the server does not count them.
    key_absent: Option<Vec<(Name, u64)>>,
}

pub(crate) fn run(server: &str, format: Format, deny_warnings: bool) -> Result<(), Failure> {
    let client = Client::new(server)?;
    let (status, rules) = client.get("/admin/v1/rules")?;
    if status != 200 {
        let said = rules["detail"].as_str().unwrap_or("no reason given");
        return Err(anyhow!("the server answered {status}: {said}").into());
    }
    let idle = find(&rules, &client.text("/metrics")?);
    match format {
        Format::Json => print(&format!("{:#}\n", idle.to_json()))?,
        Format::Text => print(&idle.text())?,
    }
    if deny_warnings && !idle.is_empty() { Err(Failure::InvalidRules) } else { Ok(()) }
}

fn find(rules: &Value, metrics: &str) -> Idle {
    let decisions = sums(metrics, DECISIONS).unwrap_or_default();
    let other = (OTHER.to_owned(), OTHER.to_owned());
    let are_summed = decisions.get(&other).is_some_and(|count| *count > 0);
    let mut idle = Idle::default();
    for name in names(rules) {
        match decisions.get(&name) {
            None if are_summed => idle.unknown.push(name),
            Some(0) | None => idle.never_matched.push(name),
            Some(_) => {}
        }
    }
    let absent = sums(metrics, KEY_ABSENT);
    idle.key_absent = absent.map(|absent| absent.into_iter().filter(|(_, count)| *count > 0).collect());
    idle
}

/// All rules that are not off.
fn names(rules: &Value) -> Vec<Name> {
    let list = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut names = Vec::new();
    for domain in list(&rules["domains"]) {
        let on = list(&domain["rules"]).into_iter().filter(|rule| rule["mode"] != "off");
        names.extend(on.map(|rule| (text(&domain["name"]), text(&rule["name"]))));
    }
    names
}

/// The values of a metric by domain and rule, over all other labels; `None` if there is no such metric.
fn sums(metrics: &str, family: &str) -> Option<BTreeMap<Name, u64>> {
    let is_there = metrics
        .lines()
        .any(|line| line.strip_prefix("# TYPE ").is_some_and(|rest| rest.split(' ').next() == Some(family)));
    let mut sums = BTreeMap::new();
    for line in metrics.lines() {
        let Some((labels, value)) =
            line.strip_prefix(family).and_then(|rest| rest.strip_prefix('{')?.rsplit_once("} "))
        else {
            continue;
        };
        if let (Some(domain), Some(rule), Ok(value)) =
            (label(labels, "domain"), label(labels, "rule"), value.parse::<u64>())
        {
            *sums.entry((domain, rule)).or_default() += value;
        }
    }
    is_there.then_some(sums)
}

/// The value of a label, without its escapes.
fn label(labels: &str, name: &str) -> Option<String> {
    let mut rest = labels;
    loop {
        let (own, quoted) = rest.split_once("=\"")?;
        let (mut value, mut characters) = (String::new(), quoted.char_indices());
        let end = loop {
            match characters.next()? {
                (end, '"') => break end,
                (_, '\\') => value.push(match characters.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, other) => value.push(other),
            }
        };
        if own.trim_start_matches(',') == name {
            return Some(value);
        }
        rest = &quoted[end + 1..];
    }
}

impl Idle {
    fn is_empty(&self) -> bool {
        self.never_matched.is_empty() && self.key_absent.as_ref().is_none_or(Vec::is_empty)
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let mut list = |head: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                out.push_str(head);
                out.extend(lines.iter().map(|line| format!("\n  {line}")));
                out.push('\n');
            }
        };
        let named = |(domain, rule): &Name| format!("{rule} of {domain}");
        list(
            "rules that never matched since the server started:",
            self.never_matched.iter().map(named).collect(),
        );
        let absent = self.key_absent.iter().flatten();
        let absent = absent.map(|(name, count)| format!("{}: {count} requests", named(name))).collect();
        list("rules that did not count requests without their key:", absent);
        list("rules that the server does not count apart:", self.unknown.iter().map(named).collect());
        if self.key_absent.is_none() {
            out.push_str("this server does not count requests without a key\n");
        }
        if self.is_empty() && self.unknown.is_empty() {
            out.push_str("ok: every rule has matched\n");
        }
        out
    }

    fn to_json(&self) -> Value {
        let named = |(domain, rule): &Name| json!({ "domain": domain, "rule": rule });
        let list = |names: &[Name]| names.iter().map(named).collect::<Vec<_>>();
        let absent = self.key_absent.as_ref().map(|absent| {
            let one = |((domain, rule), count): &(Name, u64)| json!({ "domain": domain, "rule": rule, "requests": count });
            absent.iter().map(one).collect::<Vec<_>>()
        });
        json!({ "never_matched": list(&self.never_matched), "unknown": list(&self.unknown), "key_absent": absent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECIDED: &str = "# HELP ratelimit_decisions_total x\n# TYPE ratelimit_decisions_total counter\n\
        ratelimit_decisions_total{domain=\"api\",rule=\"busy\",outcome=\"allowed\"} 0\n\
        ratelimit_decisions_total{domain=\"api\",rule=\"busy\",outcome=\"denied\"} 3\n\
        ratelimit_decisions_total{domain=\"api\",rule=\"a \\\"b\\\"\",outcome=\"allowed\"} 0\n";

    fn name(rule: &str) -> Name {
        ("api".to_owned(), rule.to_owned())
    }

    fn rules() -> Value {
        let rule = |name: &str, mode: &str| json!({ "name": name, "mode": mode });
        let rules =
            [rule("busy", "enforce"), rule("a \"b\"", "shadow"), rule("gone", "enforce"), rule("off", "off")];
        json!({ "domains": [{ "name": "api", "rules": rules }] })
    }

    #[test]
    fn finds_rules_that_never_matched() {
        let idle = find(&rules(), DECIDED);
        assert_eq!(idle.never_matched, [name("a \"b\""), name("gone")]);
        assert_eq!((idle.key_absent.clone(), idle.unknown.len()), (None, 0));
        assert!(idle.text().contains("this server does not count requests without a key"), "{}", idle.text());
    }

    #[test]
    fn summed_rules_are_unknown() {
        let other = "ratelimit_decisions_total{domain=\"other\",rule=\"other\",outcome=\"allowed\"} 7\n";
        let idle = find(&rules(), &format!("{DECIDED}{other}"));
        assert_eq!((idle.never_matched, idle.unknown), (vec![name("a \"b\"")], vec![name("gone")]));
    }

    #[test]
    fn tells_absent_keys() {
        let absent = "# TYPE ratelimit_rule_key_absent_total counter\n\
            ratelimit_rule_key_absent_total{domain=\"api\",rule=\"busy\"} 12\n\
            ratelimit_rule_key_absent_total{domain=\"api\",rule=\"gone\"} 0\n";
        let idle = find(&rules(), &format!("{DECIDED}{absent}"));
        assert_eq!(idle.key_absent, Some(vec![(name("busy"), 12)]));
        assert!(idle.text().contains("busy of api: 12 requests"), "{}", idle.text());
    }
}
