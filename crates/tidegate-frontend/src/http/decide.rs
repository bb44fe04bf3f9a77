//! The routes that ask: check, peek, reserve and refund.

use axum::body::{Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tidegate_core::Timestamp;
use tidegate_engine::{Check, Decision, Malformed};
use tidegate_store::Store;

use super::answer::{Answer, Result, json_reply};
use super::body::{self, ContentType};
use super::reply::Reply;
use crate::door::Door;
use crate::door::question::{Ask, Asked, Question};
use tidegate_wire::json::PlainCheck;
use tidegate_wire::json::{FieldError, Fields};
use tidegate_wire::problem::Problem;
use tidegate_wire::timeout;
use tidegate_wire::trust::Peer;

fn asked<S: Store>(door: &Door<S>, (headers, peer): (&HeaderMap, Option<&Peer>), ask: Ask) -> Asked {
    let patience = door.patience(timeout::http(headers));
    let caller = door.settings().trust.caller(peer, headers);
    Asked { ask, patience, caller }
}

/// What became of the checks of a batch.
#[derive(JsonSchema, Serialize)]
pub(super) struct Results {
    /// In the order of the checks.
    results: Vec<Result>,
}

pub(super) async fn check<S: Store>(State(door): State<Door<S>>, request: Request) -> Response {
    one_of(&door, request, Ask::Check).await
}

pub(super) async fn peek<S: Store>(State(door): State<Door<S>>, request: Request) -> Response {
    one_of(&door, request, Ask::Peek).await
}

async fn one_of<S: Store>(door: &Door<S>, request: Request, ask: Ask) -> Response {
    let (head, body) = request.into_parts();
    finish(door, begin(door, (&head.headers, head.extensions.get()), body, ask)).await
}

/// A question whose head is read.
pub struct Begun<B> {
    body: B,
    /// Who asks what; or what is wrong with the head.
    asked: std::result::Result<Asked, Box<Problem>>,
}

/// Reads the head, and keeps what is needed of it.
pub(super) fn begin<S: Store, B>(
    door: &Door<S>,
    (headers, peer): (&HeaderMap, Option<&Peer>),
    body: B,
    ask: Ask,
) -> Begun<B> {
    let most = door.settings().max_body_bytes;
    let asked = body::unwelcome(headers, ContentType::Json, most)
        .map_or_else(|| Ok(asked(door, (headers, peer), ask)), |problem| Err(Box::new(problem)));
    Begun { body, asked }
}

/// Reads the body, and answers.
pub(super) async fn finish<S, B>(door: &Door<S>, begun: Begun<B>) -> Response
where
    S: Store,
    B: HttpBody<Data = Bytes> + Unpin,
{
    let asked = match begun.asked {
        Ok(asked) => asked,
        Err(problem) => return body::refuse(door, &problem).into_response(),
    };
    let reply = match body::bytes(door, begun.body).await {
        // Boxed to keep this future small while the body is read.
        Ok((bytes, _share)) => Box::pin(answer(door, &bytes, asked)).await,
        Err(problem) => body::refuse(door, &problem),
    };
    reply.into_response()
}

async fn answer<S: Store>(door: &Door<S>, bytes: &[u8], asked: Asked) -> Reply {
    if let Some(mut plain) = PlainCheck::read(bytes) {
        let check = plain_check(&mut plain, door, &asked);
        let decided = door.decide(&check, asked.ask).await;
        return Answer::to(door, &check, &decided).respond();
    }
    let answered = Box::pin(at_length(door, bytes, asked)).await;
    answered.unwrap_or_else(|problem| body::refuse(door, &problem))
}

pub(super) async fn reserve<S: Store>(State(door): State<Door<S>>, request: Request) -> Reply {
    let read = |value| Question::read_with_hold(value).map(|(question, hold)| (question, Ask::Reserve(hold)));
    just_one(&door, request, read).await.unwrap_or_else(|problem| body::refuse(&door, &problem))
}

pub(super) async fn refund<S: Store>(State(door): State<Door<S>>, request: Request) -> Reply {
    let read = |value| {
        let (question, charged_at_ms) = Question::read_with_charged_at(value)?;
        let charged_at = charged_at_ms.map(|ms| Timestamp::from_micros(ms.saturating_mul(1000)));
        Ok((question, Ask::Refund(charged_at)))
    };
    just_one(&door, request, read).await.unwrap_or_else(|problem| body::refuse(&door, &problem))
}

async fn just_one<S: Store>(
    door: &Door<S>,
    request: Request,
    read: impl FnOnce(Value) -> std::result::Result<(Question, Ask), FieldError>,
) -> std::result::Result<Reply, Problem> {
    let asked = asked(door, (request.headers(), request.extensions().get()), Ask::Check);
    let (value, _share) = body::read(door, request, ContentType::Json).await?;
    let (question, ask) = read(value)?;
    let question = question.in_domain_of(door)?;
    Ok(decide(door, question, Asked { ask, ..asked }).await.respond())
}

/// Whatever is not plain. A check is an object; several are a list, or a list under `checks`.
async fn at_length<S: Store>(
    door: &Door<S>,
    bytes: &[u8],
    asked: Asked,
) -> std::result::Result<Reply, Problem> {
    match body::json(bytes).map_err(|problem| *problem)? {
        Value::Array(checks) => many(door, checks, asked).await,
        Value::Object(map) if map.contains_key("checks") => {
            let mut fields = Fields::of("the batch", Value::Object(map))?;
            let checks = fields.list(&["checks"])?.unwrap_or_default();
            fields.finish()?;
            many(door, checks, asked).await
        }
        value => {
            let question = Question::read(value)?.in_domain_of(door)?;
            Ok(decide(door, question, asked).await.respond())
        }
    }
}

/// Each is decided by itself, in order: what an earlier one took is not there for a later one.
async fn many<S: Store>(
    door: &Door<S>,
    checks: Vec<Value>,
    asked: Asked,
) -> std::result::Result<Reply, Problem> {
    let (count, most) = (checks.len(), door.settings().max_batch);
    if count > most {
        let detail = format!("the batch has {count} checks and the most is {most}; send several");
        return Err(Problem::of_request(StatusCode::BAD_REQUEST, detail));
    }
    // All are read before the first is asked: a tree of JSON takes many times the room of what it says.
    let read = |check| Question::read(check)?.in_domain_of(door);
    let questions: Vec<_> = checks.into_iter().map(read).collect();
    let mut results = Vec::with_capacity(count);
    for question in questions {
        let answer = match question {
            Ok(question) => decide(door, question, asked).await,
            Err(wrong) => {
                door.note_malformed();
                Answer::problem(wrong.into())
            }
        };
        results.push(answer.into_result());
    }
    Ok(json_reply(StatusCode::OK, &Results { results }))
}

async fn decide<S: Store>(door: &Door<S>, question: Question, asked: Asked) -> Answer {
    let told = |check: &Check<'_>, decided: std::result::Result<Decision, Malformed>| match &decided {
        Ok(decision) if asked.ask.came_to_nothing(decision) => {
            Answer::problem(body::busy("it could not be given back; retry in 1 s"))
        }
        _ => Answer::to(door, check, &decided),
    };
    door.ask(question, asked, told).await
}

/// A plain check as the engine takes it, without what the caller is not trusted to state.
fn plain_check<'p, S: Store>(plain: &'p mut PlainCheck<'_>, door: &Door<S>, asked: &Asked) -> Check<'p> {
    let trust = &door.settings().trust;
    if !asked.caller.is_trusted() {
        plain.attributes.retain(|(attribute, _)| !trust.ignores(asked.caller, attribute));
    }
    Check {
        attributes: &plain.attributes,
        cost: plain.cost,
        patience: door.left(asked.patience),
        ..Check::new(plain.domain)
    }
}
