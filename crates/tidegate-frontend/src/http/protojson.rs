//! `POST /json`, as envoyproxy/ratelimit has it: its messages in protobuf's JSON, 200 if the request may pass, 429 if not, or the
//! status of the rule that refuses.

pub(super) mod schema;

use axum::extract::{Request, State};
use http::StatusCode;
use tidegate_store::Store;
use tidegate_wire::envoy::RateLimitResponse;
use tidegate_wire::envoy::json::{decode_request, encode_response};
use tidegate_wire::headers::names::CONTENT_TYPE;
use tidegate_wire::problem::Problem;
use tidegate_wire::timeout;

use super::answer::json_reply;
use super::body::{self, ContentType};
use super::reply::Reply;
use crate::door::Door;
use crate::ratelimit::{self, EnvoyQuestion, Failure};

pub(super) async fn should_rate_limit<S: Store>(State(door): State<Door<S>>, request: Request) -> Reply {
    answer(&door, request).await.unwrap_or_else(|problem| body::refuse(&door, &problem))
}

async fn answer<S: Store>(door: &Door<S>, request: Request) -> Result<Reply, Problem> {
    let patience = door.patience(timeout::http(request.headers()));
    let caller = door.settings().trust.caller(request.extensions().get(), request.headers());
    let (value, _share) = body::read(door, request, ContentType::Any).await?;
    let sent = decode_request(value)?;
    let mut question = EnvoyQuestion { request: sent.borrow(), patience };
    question.request.keep_trusted(&door.settings().trust, caller);
    let answer = ratelimit::answer(door, &question, |answer| tell(&answer)).await;
    Ok(answer.unwrap_or_else(|failure| body::respond(&failed(failure))))
}

fn tell(answer: &RateLimitResponse<'_>) -> Reply {
    let status = if answer.allowed { StatusCode::OK } else { answer.status };
    let mut reply = json_reply(status, &encode_response(answer));
    for (name, value) in answer.to_client.iter().filter(|(name, _)| *name != CONTENT_TYPE) {
        reply.headers.text(name, value);
    }
    reply
}

fn failed(failure: Failure) -> Problem {
    match failure {
        Failure::Malformed(message) | Failure::Sent(message) => {
            Problem::of_request(StatusCode::BAD_REQUEST, message)
        }
        Failure::Undecided => {
            body::busy("it could not be decided whether the request may pass; retry in 1 s")
        }
    }
}
