//! A decision as it goes out in JSON: with 200 if the request may pass, as a problem if it may not.

use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use tidegate_engine::{Check, Decision, LimitView, Malformed};
use tidegate_store::Store;

use super::body;
use crate::door::{Door, decision_id, milliseconds};
use crate::problem::{CONTENT_TYPE, Problem};

/// What a check is answered: by itself, or as one of a batch.
pub(super) struct Answer {
    headers: HeaderMap,
    said: Said,
}

/// The body.
#[derive(Serialize)]
#[serde(untagged)]
enum Said {
    Decision(Told),
    Problem(Problem),
}

/// One of a batch says its status, which by itself it would have had as an answer.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Result {
    Decision {
        status: u16,
        #[serde(flatten)]
        told: Told,
    },
    Problem(Problem),
}

#[derive(Serialize)]
pub(super) struct Told {
    decision: &'static str,
    id: String,
    denied_by: Vec<String>,
    reason: String,
    state: &'static str,
    snapshot: u64,
    delay_ms: Option<u64>,
    limits: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    rule: String,
    limit: u64,
    remaining: u64,
    reset_after_ms: u64,
    retry_after_ms: Option<u64>,
    mode: &'static str,
    allowed: bool,
}

impl Answer {
    /// The answer to a check that was decided, or could not be asked.
    pub(super) fn to<S: Store + 'static>(
        door: &Door<S>,
        check: &Check<'_>,
        decided: std::result::Result<Decision, Malformed>,
    ) -> Self {
        match decided {
            Ok(decision) => Self::of(door, check, &decision),
            Err(malformed) => Self::problem(misunderstood(&malformed)),
        }
    }

    fn of<S: Store + 'static>(door: &Door<S>, check: &Check<'_>, decision: &Decision) -> Self {
        let (outside, told) = (door.tell(check, decision), Told::of(decision));
        let said = match outside.problem {
            None => Said::Decision(told),
            Some(problem) => Said::Problem(told.into_members_of(problem)),
        };
        Self { headers: outside.headers, said }
    }

    pub(super) fn problem(problem: Problem) -> Self {
        Self { headers: HeaderMap::new(), said: Said::Problem(problem) }
    }

    /// The same with another problem in place of the one that it tells, if it does.
    pub(super) fn map_problem(self, change: impl FnOnce(Problem) -> Problem) -> Self {
        match self.said {
            Said::Problem(problem) => Self { said: Said::Problem(change(problem)), ..self },
            Said::Decision(_) => self,
        }
    }

    pub(super) fn respond(self) -> Response {
        let mut response = match &self.said {
            Said::Decision(told) => json_response(StatusCode::OK, told),
            // When to come back is among the headers.
            Said::Problem(problem) => body::with_type(problem.status(), CONTENT_TYPE, problem.to_json()),
        };
        response.headers_mut().extend(self.headers);
        response
    }

    pub(super) fn into_result(self) -> Result {
        match self.said {
            Said::Decision(told) => Result::Decision { status: StatusCode::OK.as_u16(), told },
            Said::Problem(problem) => Result::Problem(problem),
        }
    }
}

/// A body of JSON.
pub(super) fn json_response(status: StatusCode, body: &impl Serialize) -> Response {
    let json = serde_json::to_vec(body).expect("texts and numbers under text names are always JSON");
    body::with_type(status, "application/json", json)
}

impl Told {
    fn of(decision: &Decision) -> Self {
        Self {
            decision: decision.outcome.word(),
            id: decision_id(decision),
            denied_by: decision.denied_by().map(|rule| rule.name.to_owned()).collect(),
            reason: decision.reason().into_owned(),
            state: decision.state.word(),
            snapshot: decision.version,
            delay_ms: (decision.delay_us > 0).then(|| milliseconds(decision.delay_us)),
            limits: decision.limits().map(|view| Line::of(&view)).collect(),
        }
    }

    fn into_members_of(self, problem: Problem) -> Problem {
        problem
            .with_member("decision", self.decision)
            .with_member("denied_by", self.denied_by)
            .with_member("reason", self.reason)
            .with_member("state", self.state)
            .with_member("snapshot", self.snapshot)
            .with_member("delay_ms", self.delay_ms)
            .with_member("limits", self.limits.iter().map(|limit| json!(limit)).collect::<Vec<Value>>())
    }
}

impl Line {
    fn of(view: &LimitView<'_>) -> Self {
        Self {
            rule: view.rule_name().to_owned(),
            limit: view.limit.capacity(),
            remaining: view.verdict.remaining,
            reset_after_ms: milliseconds(view.verdict.reset_after_us),
            retry_after_ms: view.retry_after_us().map(milliseconds),
            mode: view.mode().word(),
            allowed: view.allows(),
        }
    }
}

fn misunderstood(malformed: &Malformed) -> Problem {
    let status = match malformed {
        Malformed::IdempotencyConflict => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::BAD_REQUEST,
    };
    Problem::of_request(status, malformed.to_string())
}
