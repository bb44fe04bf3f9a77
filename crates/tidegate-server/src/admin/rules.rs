//! The rules in force as JSON: their limits in numbers and in short, where each was written, and what was found in the
//! files. Identities are left out: they may name secrets.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use tidegate_rules::rule::{Rule, RuleLimit};
use tidegate_rules::{Domain, Severity};

use super::Admin;
use crate::http::json_body;
use crate::rules::reload::{FileReport, Remark};
use crate::rules::status::{Attempt, RulesStatus};

/// `GET /admin/v1/rules`.
pub(super) async fn rules(State(admin): State<Arc<Admin>>) -> Response {
    let snapshot = admin.metrics.engine.snapshot();
    let mut body = status(&admin.metrics.status.get());
    body["version"] = json!(snapshot.version());
    body["domains"] = snapshot.domains().map(|domain| of_domain(domain)).collect();
    json_body(StatusCode::OK, &body)
}

/// `GET /admin/v1/snapshot`.
pub(super) async fn snapshot(State(admin): State<Arc<Admin>>) -> Response {
    let snapshot = admin.metrics.engine.snapshot();
    let domains =
        snapshot.domains().map(|domain| json!({ "name": domain.name, "rules": domain.rules.len() }));
    let body = json!({
        "version": snapshot.version(),
        "installed_at_ms": milliseconds(admin.metrics.status.get().installed_at),
        "rules": snapshot.rules(),
        "domains": domains.collect::<Vec<_>>(),
    });
    json_body(StatusCode::OK, &body)
}

/// What is told about the files and the last reading.
pub(super) fn status(status: &RulesStatus) -> Value {
    let failed = status.last.as_ref().filter(|last| !last.outcome.is_success());
    json!({
        "version": status.version,
        "installed_at_ms": milliseconds(status.installed_at),
        "last_success_at_ms": milliseconds(status.succeeded_at),
        "last_reload": status.last.as_ref().map(attempt),
        "last_error": failed.and_then(|last| last.error.as_deref()),
        "files": status.files.iter().map(file).collect::<Vec<_>>(),
    })
}

fn attempt(attempt: &Attempt) -> Value {
    json!({ "at_ms": milliseconds(attempt.at), "why": attempt.why, "result": attempt.outcome.word() })
}

fn file(file: &FileReport) -> Value {
    json!({
        "name": file.name,
        "state": file.state.word(),
        "errors": file.count(Severity::Error),
        "warnings": file.count(Severity::Warning),
        "remarks": file.remarks.iter().map(remark).collect::<Vec<_>>(),
    })
}

fn remark(remark: &Remark) -> Value {
    json!({
        "severity": if remark.is_error() { "error" } else { "warning" },
        "code": remark.code,
        "message": remark.message,
        "help": remark.help,
        "line": remark.place.map(|(line, _)| line),
        "column": remark.place.map(|(_, column)| column),
    })
}

fn of_domain(domain: &Domain) -> Value {
    json!({
        "name": domain.name,
        "tenant": domain.tenant.map(|tenant| domain.names.name(tenant)),
        "class": domain.class.word(),
        "rules": domain.rules.iter().map(|rule| of_rule(domain, rule)).collect::<Vec<_>>(),
    })
}

fn of_rule(domain: &Domain, rule: &Rule) -> Value {
    json!({
        "name": rule.name,
        "description": rule.description,
        "file": &*rule.origin.file,
        "line": rule.origin.line,
        "by": domain.by(rule),
        "scope": rule.scope.word(),
        "mode": rule.mode.word(),
        "written_mode": rule.switched_from.unwrap_or(rule.mode).word(),
        "switched": rule.switched_from.is_some(),
        "action": rule.action.word(),
        "class": rule.class.word(),
        "priority": rule.priority,
        "expires_at_ms": rule.expires_at.map(milliseconds),
        "limits": rule.limits.all().map(|(tier, limit)| of_limit(tier, limit)).collect::<Vec<_>>(),
    })
}

fn of_limit(tier: Option<&str>, limit: &RuleLimit) -> Value {
    json!({
        "tier": tier,
        "policy": limit.policy,
        "limit": limit.written,
        "amount": limit.amount,
        "per_us": limit.per_us,
        "capacity": limit.capacity(),
        "algorithm": limit.algorithm().name(),
        "counted": limit.counted.word(),
    })
}

fn milliseconds(at: tidegate_core::Timestamp) -> u64 {
    at.as_micros() / 1000
}
