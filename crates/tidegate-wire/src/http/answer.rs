//! A decision as it goes out in JSON: with 200 if the request may pass, as a problem if it may not.

use axum::response::Response;
use http::{HeaderMap, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
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
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(super) enum Result {
    /// It was decided, and may pass.
    Decision {
        /// 200.
        status: u16,
        #[serde(flatten)]
        told: Told,
    },
    /// It was refused, or is no check.
    Problem(Problem),
}

/// What was decided, and why.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Decision")]
pub(super) struct Told {
    /// `delay`: go on after `delay_ms`. `degrade`: go on, do less. `shed`: there is too much at once.
    #[schemars(schema_with = "decisions")]
    decision: &'static str,
    /// The decision's name, for logs and to give back what it holds.
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"))]
    id: String,
    /// The rules that refused.
    denied_by: Vec<String>,
    /// In one word, such as `ok`, `api_key-rate`, `tenant-quota`, `blocked`, `undecided` or `no-such-domain`.
    reason: String,
    /// How far it was counted: `open` if nobody could count and the class of the rules decided.
    #[schemars(schema_with = "states")]
    state: &'static str,
    /// The version of the rules.
    snapshot: u64,
    /// How long to wait before going on.
    delay_ms: Option<u64>,
    /// Every limit that had a word in it.
    limits: Vec<Line>,
}

/// A limit and what it said.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Limit")]
struct Line {
    /// Its rule.
    rule: String,
    /// How much there is in all.
    limit: u64,
    /// How much of it is left.
    remaining: u64,
    /// When all of it is there again.
    reset_after_ms: u64,
    /// When the same check passes it; null if it did, or never can.
    retry_after_ms: Option<u64>,
    /// What is in the shadow is counted and refuses nobody.
    #[schemars(schema_with = "modes")]
    mode: &'static str,
    /// Whether it let the check pass.
    allowed: bool,
}

fn decisions(_: &mut SchemaGenerator) -> Schema {
    use tidegate_engine::Outcome::{Allow, Challenge, Degrade, Delay, Deny, Shed};
    let words = [Allow, Deny, Delay, Degrade, Challenge, Shed].map(tidegate_engine::Outcome::word);
    json_schema!({ "enum": words })
}

fn states(_: &mut SchemaGenerator) -> Schema {
    use tidegate_engine::Consistency::{Exact, Local, Open, Regional};
    let words = [Exact, Regional, Local, Open].map(tidegate_engine::Consistency::word);
    json_schema!({ "enum": words })
}

fn modes(_: &mut SchemaGenerator) -> Schema {
    use tidegate_rules::rule::Mode::{Enforce, Off, Shadow};
    let words = [Enforce, Shadow, Off].map(tidegate_rules::rule::Mode::word);
    json_schema!({ "enum": words })
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
