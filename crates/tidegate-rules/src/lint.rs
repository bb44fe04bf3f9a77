//! What is allowed and was probably not meant, with the reason.

mod limits;
mod implies;
mod reach;
mod excludes;
mod atomic;
mod applies;
mod absent_key;

use tidegate_core::{Algorithm, MAX_CHARGES};

use crate::compile::{Context, File};
use crate::condition::{Condition, Test};
use crate::conditions::mentions;
use crate::diagnostic::Diagnostic;
use crate::name::AttributeId;
use crate::rule::{Action, By, Mode, Rule, Scope};
use crate::snapshot::{Domain, Snapshot};

/// Adds warnings to the files; `atomic: required` that does not hold is an error, and so is a rule that can never apply.
///
/// Beside errors only rules without one are looked at, each by itself: what a broken rule means is not known.
pub(crate) fn warn(snapshot: &Snapshot, context: &Context, files: &mut [File]) {
    let broken = files.iter().any(|file| file.diagnostics.has_errors());
    for domain in snapshot.domains() {
        let own = domain.rules.iter().filter(|rule| rule.tree.is_none());
        let sound: Vec<&Rule> = own.filter(|rule| !broken || is_sound(files, rule)).collect();
        for rule in sound {
            let mut said = Vec::new();
            alone(domain, rule, context, &mut said);
            say(files, rule, said);
        }
        if !files.iter().any(|file| file.diagnostics.has_errors()) {
            together(domain, files);
        }
    }
}

fn is_sound(files: &[File], rule: &Rule) -> bool {
    let file = files.iter().find(|file| *file.source.name() == *rule.origin.file);
    file.is_some_and(|file| !file.diagnostics.has_errors_in(rule.origin.whole))
}

/// What a rule says by itself.
fn alone(domain: &Domain, rule: &Rule, context: &Context, said: &mut Vec<Diagnostic>) {
    forgeable(domain, rule, said);
    shared_address(domain, rule, said);
    guessable(domain, rule, said);
    shadowing_capture(rule, said);
    limits::never_bind(rule, said);
    applies::never(domain, rule, said);
    applies::repeated(domain, rule, said);
    applies::one_tier(domain, rule, said);
    if let Some(now) = context.now {
        applies::expired(rule, now, said);
    }
}

/// What rules come to together.
fn together(domain: &Domain, files: &mut [File]) {
    let firsts = reach::Firsts::of(domain);
    for rule in domain.rules.iter().filter(|rule| rule.tree.is_none()) {
        let mut said = Vec::new();
        firsts.warn(rule, &mut said);
        say(files, rule, said);
    }
    for (rule, said) in absent_key::find(domain) {
        say(files, rule, vec![said]);
    }
    atomic::check(domain, files);
    absent_tenant(domain, files);
    too_many_limits(domain, files);
}

fn say(files: &mut [File], rule: &Rule, said: Vec<Diagnostic>) {
    if said.is_empty() {
        return;
    }
    if let Some(file) = files.iter_mut().find(|file| *file.source.name() == *rule.origin.file) {
        for diagnostic in said {
            file.diagnostics.push(diagnostic);
        }
    }
}

fn warning(rule: &Rule, code: &'static str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::warning(code, rule.origin.span, message)
}

fn always(condition: &Condition) -> bool {
    matches!(condition, Condition::All(parts) if parts.iter().all(always))
}

/// Counting by what a caller can write at will does not hold anybody.
fn forgeable(domain: &Domain, rule: &Rule, said: &mut Vec<Diagnostic>) {
    let names = domain.by(rule);
    let forged = |name: &String| {
        ["header.", "query.", "cookie."].iter().any(|prefix| name.starts_with(prefix)) || name == "user_agent"
    };
    let passed_on = |name: &&String| !matches!(name.as_str(), "header.authorization" | "header.x-api-key");
    if !names.is_empty()
        && let Some(name) = names.iter().filter(passed_on).find(|name| forged(name))
    {
        let message = format!("`{name}` is what the caller writes: a new value is a new counter");
        said.push(
            warning(rule, "forgeable", message)
                .help("count by something that was verified, such as api_key, user or ip, or add it"),
        );
    }
}

fn shared_address(domain: &Domain, rule: &Rule, said: &mut Vec<Diagnostic>) {
    let only_address = matches!(rule.by[..], [By::Address(_)]);
    if only_address && rule.action == Action::Reject && is_wide(domain, &rule.applies) {
        said.push(
            warning(
                rule,
                "shared-address",
                "an office or a mobile network behind one address shares this limit",
            )
            .help("make it generous, or count signed-in callers by user or api_key in a rule of their own"),
        );
    }
}

/// Whether a condition lets signed-in callers of the whole API in: it names no part of it by its path, and does not ask
/// that something be absent, as rules for callers without a key do.
fn is_wide(domain: &Domain, condition: &Condition) -> bool {
    let path = domain.names.get("path");
    match condition {
        Condition::All(parts) => parts.iter().all(|part| is_wide(domain, part)),
        Condition::Is(_, Test::Absent) => false,
        Condition::Is(asked, Test::Glob(glob)) if Some(*asked) == path => {
            matches!(glob.to_string().as_str(), "/**" | "**")
        }
        condition => !path.is_some_and(|path| mentions(condition, path)),
    }
}

/// A name in `by` that both the path and the request may have.
fn shadowing_capture(rule: &Rule, said: &mut Vec<Diagnostic>) {
    const KNOWN: [&str; 8] = ["user", "api_key", "org", "ip", "plan", "method", "path", "host"];
    let captured = rule.by.iter().find_map(|by| match by {
        By::Capture { name, .. } if KNOWN.contains(&&**name) => Some(name),
        _ => None,
    });
    if let Some(name) = captured {
        let message = format!("`{name}` is counted by as the path has it, not as the request says");
        said.push(
            warning(rule, "capture-shadows", message)
                .help("call the capture something else if that was not meant"),
        );
    }
}

/// A plan holds so many limits; one more, and nothing can be counted.
fn too_many_limits(domain: &Domain, files: &mut [File]) {
    let meets_all = |rule: &&Rule| {
        rule.tree.is_none()
            && rule.mode != Mode::Off
            && rule.group.is_none()
            && rule.by.is_empty()
            && rule.schedule.is_none()
            && rule.expires_at.is_none()
            && always(&rule.applies)
    };
    let mut limits = 0;
    for rule in domain.rules.iter().filter(meets_all) {
        limits += rule.limits.own.len();
        if limits > MAX_CHARGES {
            let message =
                format!("every request would meet more than {MAX_CHARGES} limits, and none could be counted");
            let said = Diagnostic::error("too-many-limits", rule.origin.span, message);
            return say(files, rule, vec![said.help("put rules into a group, or give them a `match`")]);
        }
    }
}

/// A bucket lets a whole burst of guesses through at once.
fn guessable(domain: &Domain, rule: &Rule, said: &mut Vec<Diagnostic>) {
    let words = ["login", "signin", "sign-in", "password", "otp", "2fa", "verify-code"];
    let suspicious = |text: &str| words.iter().any(|word| text.to_lowercase().contains(word));
    let path = domain.names.get("path");
    if !suspicious(&rule.name)
        && !path.is_some_and(|path| texts(&rule.applies, path).iter().any(|text| suspicious(text)))
    {
        return;
    }
    let bucket = rule.limits.own.iter().find(|limit| {
        matches!(limit.algorithm(), Algorithm::Gcra | Algorithm::TokenBucket) && limit.capacity() > 1
    });
    if let Some(limit) = bucket {
        let message = format!(
            "a bucket lets {} guesses through at once, and again whenever it is full",
            limit.capacity()
        );
        said.push(
            warning(rule, "bucket-on-login", message)
                .help("for logins write a window (5/min) with count_refused and block_for"),
        );
    }
}

/// What a condition compares an attribute with, as text.
fn texts(condition: &Condition, attribute: AttributeId) -> Vec<String> {
    match condition {
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter().flat_map(|part| texts(part, attribute)).collect()
        }
        Condition::Is(asked, test) if *asked == attribute => match test {
            Test::OneOf(values) => values.iter().map(ToString::to_string).collect(),
            Test::Prefix(prefix) => vec![prefix.to_string()],
            Test::Glob(glob) => vec![glob.to_string()],
            Test::Regex(regex) => vec![regex.to_string()],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Requests without a tenant share one set of counters.
fn absent_tenant(domain: &Domain, files: &mut [File]) {
    let Some(tenant) = domain.tenant else { return };
    let needs = |rule: &&Rule| {
        rule.tree.is_none() && rule.scope == Scope::Tenant && !rule.limits.own.is_empty() && !mentions(&rule.applies, tenant)
            && !rule.by.iter().any(|by| matches!(by, By::Attribute(attribute) if *attribute == tenant || derives(domain, *attribute, tenant)))
    };
    let Some(rule) = domain.rules.iter().find(needs) else { return };
    let name = domain.names.name(tenant);
    let message = format!("requests without `{name}` share the counters of this rule");
    let help = format!("match {{ {name}: {{ present: true }} }}, or derive it from what every request has");
    say(files, rule, vec![warning(rule, "absent-tenant", message).help(help)]);
}

fn derives(domain: &Domain, from: AttributeId, tenant: AttributeId) -> bool {
    domain.identities.iter().any(|identity| identity.from == from && identity.derives.contains(&tenant))
}
