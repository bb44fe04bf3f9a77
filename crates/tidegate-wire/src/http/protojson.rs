//! `POST /json`, as envoyproxy/ratelimit has it: its messages in protobuf's JSON, 200 if the request may pass, 429 if not, or the
//! status of the rule that refuses.

pub(super) mod schema;

use axum::extract::{Request, State};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::StatusCode;
use serde_json::{Map, Value, json};
use tidegate_store::Store;

use super::answer::json_reply;
use super::body::{self, ContentType};
use super::fields::{Fields, Wrong};
use super::patience;
use super::reply::Reply;
use crate::door::{Door, Patience};
use crate::headers::names::CONTENT_TYPE;
use crate::problem::Problem;
use crate::ratelimit::{self, Asked, AskedLimit, Failure, Status, Unit};

pub(super) async fn should_rate_limit<S: Store>(State(door): State<Door<S>>, request: Request) -> Reply {
    answer(&door, request).await.unwrap_or_else(|problem| body::refuse(&door, &problem))
}

async fn answer<S: Store>(door: &Door<S>, request: Request) -> Result<Reply, Problem> {
    let patience = door.patience(patience::of(request.headers()));
    let caller = door.settings().trust.caller(request.extensions().get(), request.headers());
    let (value, _share) = body::read(door, request, ContentType::Any).await?;
    let sent = decode(value)?;
    let mut question = sent.question(patience);
    question.keep_what_counts(&door.settings().trust, caller);
    let answer = ratelimit::answer(door, &question, |answer| tell(&answer)).await;
    Ok(answer.unwrap_or_else(|failure| body::respond(&failed(failure))))
}

impl SentDescriptor {
    fn asked(&self) -> Asked<'_> {
        let entries = self.entries.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        Asked { entries, limit: self.limit, hits: self.hits, negative: self.negative }
    }
}

fn tell(answer: &ratelimit::Response<'_>) -> Reply {
    let status = if answer.allowed { StatusCode::OK } else { answer.status };
    let mut reply = json_reply(status, &encode(answer));
    for (name, value) in answer.to_client.iter().filter(|(name, _)| *name != CONTENT_TYPE) {
        reply.headers.text(name, value);
    }
    reply
}

/// What was sent.
pub(super) struct Sent {
    domain: String,
    descriptors: Vec<SentDescriptor>,
    hits: u64,
}

struct SentDescriptor {
    entries: Vec<(String, String)>,
    limit: Option<AskedLimit>,
    hits: Option<u64>,
    negative: bool,
}

impl Sent {
    pub(super) fn question(&self, patience: Patience) -> ratelimit::Request<'_> {
        let descriptors = self.descriptors.iter().map(SentDescriptor::asked).collect();
        ratelimit::Request { domain: &self.domain, descriptors, hits: self.hits, patience }
    }
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

pub(super) fn decode(value: Value) -> Result<Sent, Wrong> {
    let mut fields = Fields::of("the request", value)?;
    let domain = fields.text(&["domain"])?.unwrap_or_default();
    let descriptors = fields.list(&["descriptors"])?.unwrap_or_default();
    let hits = fields.count_or_digits(&["hits_addend", "hitsAddend"])?.unwrap_or(0);
    fields.finish()?;
    u32::try_from(hits)
        .map_err(|_| Wrong("`hits_addend` of the request is more than 32 bits hold".to_owned()))?;
    let descriptors = descriptors.into_iter().map(descriptor).collect::<Result<_, _>>()?;
    Ok(Sent { domain, descriptors, hits })
}

fn descriptor(value: Value) -> Result<SentDescriptor, Wrong> {
    let mut fields = Fields::of("a descriptor", value)?;
    let entries = fields.list(&["entries"])?.unwrap_or_default();
    let asked = SentDescriptor {
        entries: entries.into_iter().map(entry).collect::<Result<_, _>>()?,
        limit: fields.take(&["limit"]).map(limit).transpose()?,
        hits: fields.count_or_digits(&["hits_addend", "hitsAddend"])?,
        negative: fields.truth(&["is_negative_hits", "isNegativeHits"])?,
    };
    fields.finish().map(|()| asked)
}

fn entry(value: Value) -> Result<(String, String), Wrong> {
    let mut fields = Fields::of("an entry", value)?;
    let key = fields.text(&["key"])?.unwrap_or_default();
    let value = fields.text(&["value"])?.unwrap_or_default();
    fields.finish().map(|()| (key, value))
}

fn limit(value: Value) -> Result<AskedLimit, Wrong> {
    let mut fields = Fields::of("a limit", value)?;
    let amount = fields.count_or_digits(&["requests_per_unit", "requestsPerUnit"])?.unwrap_or(0);
    let amount = u32::try_from(amount)
        .map_err(|_| Wrong("`requests_per_unit` of a limit is more than 32 bits hold".to_owned()))?;
    let unit = match fields.take(&["unit"]) {
        Some(Value::String(name)) => Unit::from_name(&name),
        Some(number) => number
            .as_i64()
            .and_then(|number| i32::try_from(number).ok())
            .map_or(Unit::Unknown, Unit::from_number),
        None => Unit::Unknown,
    };
    fields.finish().map(|()| AskedLimit { amount, unit })
}

/// Fields that have nothing to say are left out, as protobuf does.
pub(super) fn encode(response: &ratelimit::Response<'_>) -> Value {
    let headers = response.to_client.iter().map(|(name, value)| json!({ "key": name, "value": value }));
    let requests = response.to_upstream.iter().map(|(name, value)| json!({ "key": name, "value": value }));
    let fields = [
        ("overallCode", json!(code(!response.allowed))),
        ("statuses", response.statuses.iter().map(status).collect()),
        ("responseHeadersToAdd", headers.collect()),
        ("requestHeadersToAdd", requests.collect()),
        ("rawBody", json!(BASE64_STANDARD.encode(&response.body))),
        ("dynamicMetadata", response.metadata.to_json()),
    ];
    object(fields)
}

fn status(status: &Status<'_>) -> Value {
    let current = status.current.as_ref().map(|current| {
        object([
            ("name", json!(current.name)),
            ("requestsPerUnit", json!(current.amount)),
            ("unit", json!(current.unit.name())),
        ])
    });
    object([
        ("code", json!(code(status.over))),
        ("currentLimit", json!(current)),
        ("limitRemaining", json!(status.remaining)),
        ("durationUntilReset", json!(status.reset_s.map(|seconds| format!("{seconds}s")))),
    ])
}

fn code(over: bool) -> &'static str {
    if over { "OVER_LIMIT" } else { "OK" }
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Number(number) => number.as_u64() != Some(0),
        _ => true,
    };
    let said = fields.into_iter().filter(|(_, value)| says(value));
    Value::Object(said.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}
