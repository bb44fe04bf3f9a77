//! The routes that ask: check, peek, reserve and refund.

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tidegate_core::Timestamp;
use tidegate_store::Store;

use super::answer::{Answer, Result, json_response};
use super::body::{self, ContentType};
use super::fields::{Fields, Wrong};
use super::patience;
use crate::door::Door;
use crate::door::question::{Ask, Asked, Question};
use crate::problem::Problem;

fn asked<S: Store + 'static>(door: &Door<S>, request: &Request, ask: Ask) -> Asked {
    let patience = door.patience(patience::of(request.headers()));
    let caller = door.settings().trust.caller(request.extensions(), request.headers());
    Asked { ask, patience, caller }
}

/// What became of the checks of a batch.
#[derive(JsonSchema, Serialize)]
pub(super) struct Results {
    /// In the order of the checks.
    results: Vec<Result>,
}

pub(super) async fn check<S: Store + 'static>(State(door): State<Door<S>>, request: Request) -> Response {
    one_or_many(&door, request, Ask::Check).await.unwrap_or_else(|problem| body::refuse(&door, &problem))
}

pub(super) async fn peek<S: Store + 'static>(State(door): State<Door<S>>, request: Request) -> Response {
    one_or_many(&door, request, Ask::Peek).await.unwrap_or_else(|problem| body::refuse(&door, &problem))
}

pub(super) async fn reserve<S: Store + 'static>(State(door): State<Door<S>>, request: Request) -> Response {
    let read = |value| Question::read_with_hold(value).map(|(question, hold)| (question, Ask::Reserve(hold)));
    just_one(&door, request, read).await.unwrap_or_else(|problem| body::refuse(&door, &problem))
}

pub(super) async fn refund<S: Store + 'static>(State(door): State<Door<S>>, request: Request) -> Response {
    let read = |value| {
        let (question, charged_at_ms) = Question::read_with_charged_at(value)?;
        let charged_at = charged_at_ms.map(|ms| Timestamp::from_micros(ms.saturating_mul(1000)));
        Ok((question, Ask::Refund(charged_at)))
    };
    just_one(&door, request, read).await.unwrap_or_else(|problem| body::refuse(&door, &problem))
}

async fn just_one<S: Store + 'static>(
    door: &Door<S>,
    request: Request,
    read: impl FnOnce(Value) -> std::result::Result<(Question, Ask), Wrong>,
) -> std::result::Result<Response, Problem> {
    let asked = asked(door, &request, Ask::Check);
    let (value, _share) = body::read(door, request, ContentType::Json).await?;
    let (question, ask) = read(value)?;
    Ok(decide(door, question, Asked { ask, ..asked }).await.respond())
}

/// A check is an object; several are a list, or a list under `checks`.
async fn one_or_many<S: Store + 'static>(
    door: &Door<S>,
    request: Request,
    ask: Ask,
) -> std::result::Result<Response, Problem> {
    let asked = asked(door, &request, ask);
    let (value, _share) = body::read(door, request, ContentType::Json).await?;
    match value {
        Value::Array(checks) => many(door, checks, asked).await,
        Value::Object(map) if map.contains_key("checks") => {
            let mut fields = Fields::of("the batch", Value::Object(map))?;
            let checks = fields.list(&["checks"])?.unwrap_or_default();
            fields.finish()?;
            many(door, checks, asked).await
        }
        value => Ok(decide(door, Question::read(value)?, asked).await.respond()),
    }
}

/// Each is decided by itself, in order: what an earlier one took is not there for a later one.
async fn many<S: Store + 'static>(
    door: &Door<S>,
    checks: Vec<Value>,
    asked: Asked,
) -> std::result::Result<Response, Problem> {
    let (count, most) = (checks.len(), door.settings().max_batch);
    if count > most {
        let detail = format!("the batch has {count} checks and the most is {most}; send several");
        return Err(Problem::of_request(StatusCode::BAD_REQUEST, detail));
    }
    let mut results = Vec::with_capacity(count);
    for value in checks {
        let answer = match Question::read(value) {
            Ok(question) => decide(door, question, asked).await,
            Err(wrong) => {
                door.note_malformed();
                Answer::problem(wrong.into())
            }
        };
        results.push(answer.into_result());
    }
    Ok(json_response(StatusCode::OK, &Results { results }))
}

async fn decide<S: Store + 'static>(door: &Door<S>, question: Question, asked: Asked) -> Answer {
    door.ask(question, asked, |check, decided| Answer::to(door, check, decided)).await
}
