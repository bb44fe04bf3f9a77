//! What is told about rules: the types that go out, and how they are filled.

use schemars::JsonSchema;
use serde::Serialize;
use tidegate_control::RulesStatus;
use tidegate_control::reload::{FileReport, RuleFinding};
use tidegate_control::status::ReloadAttempt;
use tidegate_rules::rule::{Rule, RuleLimit};
use tidegate_rules::{Domain, Severity};

/// What is told about the files and the last reading.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Status {
    /// The version of the rules in force.
    pub(super) version: u64,
    /// A hash of what the files say, the same on every node with the same files.
    hash: String,
    installed_at_ms: u64,
    /// When all files were last in force as they were written.
    last_success_at_ms: u64,
    last_reload: Option<Reload>,
    /// Why the last reading is no success.
    last_error: Option<String>,
    files: Vec<File>,
}

/// A reading of the files.
#[derive(JsonSchema, Serialize)]
struct Reload {
    at_ms: u64,
    why: &'static str,
    result: &'static str,
}

/// A file of rules.
#[derive(JsonSchema, Serialize)]
struct File {
    name: String,
    state: &'static str,
    errors: usize,
    warnings: usize,
    remarks: Vec<RemarkTold>,
}

/// What was found in a file.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Remark")]
struct RemarkTold {
    severity: &'static str,
    code: String,
    message: String,
    help: Option<String>,
    line: Option<usize>,
    column: Option<usize>,
}

/// The rules in force, and what was found in their files.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Rules {
    #[serde(flatten)]
    pub(super) status: Status,
    pub(super) domains: Vec<DomainTold>,
}

/// A domain and its rules.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Domain")]
pub(super) struct DomainTold {
    name: String,
    /// The attribute whose value owns the counters.
    tenant: Option<String>,
    class: &'static str,
    rules: Vec<RuleTold>,
}

/// A rule in force.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Rule")]
struct RuleTold {
    name: String,
    description: Option<String>,
    file: String,
    line: usize,
    /// What it counts by.
    by: Vec<String>,
    scope: &'static str,
    mode: &'static str,
    /// The mode that its file says.
    written_mode: &'static str,
    switched: bool,
    action: &'static str,
    class: &'static str,
    priority: i64,
    expires_at_ms: Option<u64>,
    limits: Vec<LimitTold>,
}

/// A limit of a rule.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RuleLimit")]
struct LimitTold {
    /// The tier that it is for; null for those without.
    tier: Option<String>,
    policy: String,
    /// As it was written.
    limit: String,
    amount: u64,
    per_us: Option<u64>,
    capacity: u64,
    algorithm: &'static str,
    counted: &'static str,
}

/// Which version is in force since when.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Summary {
    pub(super) version: u64,
    /// A hash of what the files say, the same on every node with the same files.
    pub(super) hash: String,
    pub(super) installed_at_ms: u64,
    pub(super) rules: usize,
    pub(super) domains: Vec<Counted>,
}

/// A domain and how many rules it has.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "DomainSummary")]
pub(super) struct Counted {
    pub(super) name: String,
    pub(super) rules: usize,
}

impl Status {
    pub(in crate::admin) fn of(status: &RulesStatus) -> Self {
        let failed = status.last.as_ref().filter(|last| !last.outcome.is_success());
        Self {
            version: status.version,
            hash: status.hash.clone(),
            installed_at_ms: milliseconds(status.installed_at),
            last_success_at_ms: milliseconds(status.succeeded_at),
            last_reload: status.last.as_ref().map(Reload::of),
            last_error: failed.and_then(|last| last.error.clone()),
            files: status.files.iter().map(File::of).collect(),
        }
    }
}

impl Reload {
    fn of(attempt: &ReloadAttempt) -> Self {
        Self { at_ms: milliseconds(attempt.at), why: attempt.why, result: attempt.outcome.word() }
    }
}

impl File {
    fn of(file: &FileReport) -> Self {
        Self {
            name: file.name.clone(),
            state: file.state.word(),
            errors: file.count(Severity::Error),
            warnings: file.count(Severity::Warning),
            remarks: file.findings.iter().map(RemarkTold::of).collect(),
        }
    }
}

impl RemarkTold {
    fn of(finding: &RuleFinding) -> Self {
        Self {
            severity: if finding.is_error() { "error" } else { "warning" },
            code: finding.code.to_string(),
            message: finding.message.clone(),
            help: finding.help.clone(),
            line: finding.place.map(|(line, _)| line),
            column: finding.place.map(|(_, column)| column),
        }
    }
}

impl DomainTold {
    pub(super) fn of(domain: &Domain) -> Self {
        Self {
            name: domain.name.to_string(),
            tenant: domain.tenant.map(|tenant| domain.names.name(tenant).to_owned()),
            class: domain.class.word(),
            rules: domain.rules.iter().map(|rule| RuleTold::of(domain, rule)).collect(),
        }
    }
}

impl RuleTold {
    fn of(domain: &Domain, rule: &Rule) -> Self {
        Self {
            name: rule.name.to_string(),
            description: rule.description.as_deref().map(str::to_owned),
            file: rule.origin.file.to_string(),
            line: rule.origin.line,
            by: domain.by(rule),
            scope: rule.scope.word(),
            mode: rule.mode.word(),
            written_mode: rule.switched_from.unwrap_or(rule.mode).word(),
            switched: rule.switched_from.is_some(),
            action: rule.action.word(),
            class: rule.class.word(),
            priority: rule.priority.into(),
            expires_at_ms: rule.expires_at.map(milliseconds),
            limits: rule.limits.all().map(|(tier, limit)| LimitTold::of(tier, limit)).collect(),
        }
    }
}

impl LimitTold {
    fn of(tier: Option<&str>, limit: &RuleLimit) -> Self {
        Self {
            tier: tier.map(str::to_owned),
            policy: limit.policy.to_string(),
            limit: limit.written.to_string(),
            amount: limit.amount,
            per_us: limit.per_us,
            capacity: limit.capacity(),
            algorithm: limit.algorithm().name(),
            counted: limit.counted.word(),
        }
    }
}

pub(super) fn milliseconds(at: tidegate_core::Timestamp) -> u64 {
    at.as_micros() / 1000
}
