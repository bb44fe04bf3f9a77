//! Conditions in words: what a rule asks for, and which of it a request lacks.

use crate::condition::{Condition, Facts, Test};
use crate::name::{AttributeId, Names};

/// What a condition asks for, in short; empty if it always holds.
pub fn describe(condition: &Condition, names: &Names) -> String {
    match condition {
        Condition::All(parts) => join(parts, names, ", "),
        Condition::Any(parts) => format!("({})", join(parts, names, " or ")),
        Condition::Not(part) => format!("not ({})", describe(part, names)),
        Condition::Is(attribute, test) => {
            let name = names.name(*attribute);
            format!("{name} {}", wants(name, test))
        }
    }
}

fn join(parts: &[Condition], names: &Names, between: &str) -> String {
    let parts: Vec<String> =
        parts.iter().map(|part| describe(part, names)).filter(|part| !part.is_empty()).collect();
    parts.join(between)
}

/// What a test asks for; of a secret only how.
fn wants(name: &str, test: &Test) -> String {
    match test {
        Test::Present | Test::Absent => {}
        _ if is_secret(name) => return "= …".to_owned(),
        _ => {}
    }
    match test {
        Test::OneOf(values) if values.len() == 1 => format!("= {}", values[0]),
        Test::OneOf(values) => {
            let shown: Vec<&str> = values.iter().take(5).map(|value| &**value).collect();
            let more =
                if values.len() > 5 { format!(", and {} more", values.len() - 5) } else { String::new() };
            format!("in [{}{more}]", shown.join(", "))
        }
        Test::Prefix(prefix) => format!("begins with {prefix}"),
        Test::Glob(glob) => format!("like {glob}"),
        Test::Regex(regex) => {
            let text = regex.as_str();
            let inner = text.strip_prefix("^(?:").and_then(|text| text.strip_suffix(")$"));
            format!("has the form {}", inner.unwrap_or(text))
        }
        Test::Cidr(networks) => {
            let shown: Vec<String> = networks.iter().take(5).map(ToString::to_string).collect();
            format!("in {}", shown.join(", "))
        }
        Test::Number(numbers) => numbers.to_string(),
        Test::Present => "is present".to_owned(),
        Test::Absent => "is absent".to_owned(),
    }
}

/// Why a condition does not hold: the first part of it that fails; `None` if it holds.
pub fn why_not(condition: &Condition, facts: &Facts<'_>, names: &Names) -> Option<String> {
    if condition.holds(facts) {
        return None;
    }
    Some(match condition {
        Condition::All(parts) => {
            parts.iter().find_map(|part| why_not(part, facts, names)).unwrap_or_default()
        }
        Condition::Any(parts) if parts.is_empty() => "it has no branches".to_owned(),
        Condition::Any(parts) => {
            let all: Vec<String> = parts.iter().filter_map(|part| why_not(part, facts, names)).collect();
            all.join("; ")
        }
        Condition::Not(part) => format!("{}, and the rule excludes that", describe(part, names)),
        Condition::Is(attribute, test) => fails(*attribute, test, facts, names),
    })
}

fn fails(attribute: AttributeId, test: &Test, facts: &Facts<'_>, names: &Names) -> String {
    let name = names.name(attribute);
    match facts.get(attribute) {
        None => format!("the request has no `{name}` (wanted: {name} {})", wants(name, test)),
        Some(value) => format!("`{name}` is `{}` (wanted: {name} {})", shown(name, value), wants(name, test)),
    }
}

/// Attributes whose values are never shown, by the last part of their names.
const SECRET: [&str; 6] = ["api_key", "x-api-key", "token", "authorization", "password", "cookie"];

/// A value, unless it is a secret.
pub fn shown<'v>(name: &str, value: &'v str) -> &'v str {
    if is_secret(name) { "…" } else { value }
}

/// Whether the values of an attribute are secrets.
pub fn is_secret(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    SECRET.iter().any(|secret| last.eq_ignore_ascii_case(secret))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glob::Glob;

    #[test]
    fn the_first_part_that_fails_is_named() {
        let mut names = Names::new();
        let (plan, path) = (names.intern("plan").unwrap(), names.intern("path").unwrap());
        let condition = Condition::All(vec![
            Condition::Is(path, Test::Glob(Glob::parse("/v1/{id}/*").unwrap())),
            Condition::Not(Box::new(Condition::Is(plan, Test::OneOf(vec!["pro".into(), "free".into()])))),
        ]);
        assert_eq!(describe(&condition, &names), "path like /v1/{id}/*, not (plan in [pro, free])");
        let mut facts = Facts::new();
        let why = |facts: &Facts<'_>| why_not(&condition, facts, &names);
        assert_eq!(why(&facts).unwrap(), "the request has no `path` (wanted: path like /v1/{id}/*)");
        facts.set(path, "/v2/x/y");
        assert_eq!(why(&facts).unwrap(), "`path` is `/v2/x/y` (wanted: path like /v1/{id}/*)");
        facts.set(path, "/v1/x/y");
        assert_eq!(why(&facts), None);
        facts.set(plan, "pro");
        assert_eq!(why(&facts).unwrap(), "plan in [pro, free], and the rule excludes that");
    }
}
