//! What callers are sent.

use tidegate_engine::{Check, Decision, LimitView};
use tidegate_store::Store;
use tonic::Status;

use super::proto;
use crate::door::{Door, Told, decision_id, milliseconds, told as lists};

pub(super) fn decision<S: Store>(
    door: &Door<S>,
    (check, decision): (&Check<'_>, &Decision),
    told: Told,
) -> proto::Decision {
    let settings = door.settings();
    let status = told.problem.map_or(200, |problem| problem.status().as_u16());
    let header =
        |(name, value): (&str, &str)| proto::Header { name: name.to_owned(), value: value.to_owned() };
    proto::Decision {
        allowed: decision.allowed(),
        decision: decision.outcome.word().to_owned(),
        id: decision_id(decision),
        denied_by: decision.denied_by().map(|rule| rule.name.to_owned()).collect(),
        reason: decision.reason().into_owned(),
        state: decision.state.word().to_owned(),
        snapshot: decision.version,
        delay_ms: milliseconds(decision.delay_us),
        status: status.into(),
        retry_after_ms: decision.retry_after_us().map(milliseconds),
        limits: lists::limits(settings, decision).map(|view| limit(&view)).collect(),
        headers: told.headers.iter().map(header).collect(),
        exceeded: lists::exceeded(settings, decision),
        warnings: lists::warnings(check, decision).into_iter().map(Into::into).collect(),
    }
}

fn limit(view: &LimitView<'_>) -> proto::Limit {
    proto::Limit {
        rule: view.rule_name().to_owned(),
        limit: view.verdict.limit,
        remaining: view.verdict.remaining,
        reset_after_ms: milliseconds(view.verdict.reset_after_us),
        retry_after_ms: view.retry_after_us().map(milliseconds),
        mode: view.mode().word().to_owned(),
        allowed: view.allows(),
        name: view.policy().to_owned(),
        window_s: lists::window_s(view),
    }
}

pub(super) fn result(decided: Result<proto::Decision, Status>) -> proto::Result {
    use proto::result::Result as Said;
    let said = match decided {
        Ok(decision) => Said::Decision(decision),
        Err(status) => Said::Invalid(status.message().to_owned()),
    };
    proto::Result { result: Some(said) }
}
