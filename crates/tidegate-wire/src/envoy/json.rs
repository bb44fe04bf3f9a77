//! The same messages in protobuf's JSON, as envoyproxy/ratelimit takes them at `POST /json`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::{
    DescriptorStatus, LimitOverride, RateLimitRequest, RateLimitResponse, RequestDescriptor, TimeUnit,
};
use crate::json::{FieldError, Fields, whole};

/// A request with its texts owned. It has no `Debug`: values may be secret.
pub struct OwnedRequest {
    domain: String,
    descriptors: Vec<OwnedDescriptor>,
    hits: u64,
}

struct OwnedDescriptor {
    entries: Vec<(String, String)>,
    limit: Option<LimitOverride>,
    hits: Option<u64>,
    negative: bool,
}

impl OwnedRequest {
    /// The same, borrowed.
    pub fn borrow(&self) -> RateLimitRequest<'_> {
        let descriptors = self.descriptors.iter().map(OwnedDescriptor::borrow).collect();
        RateLimitRequest { domain: &self.domain, descriptors, hits: self.hits }
    }
}

impl OwnedDescriptor {
    fn borrow(&self) -> RequestDescriptor<'_> {
        let entries = self.entries.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        RequestDescriptor { entries, limit: self.limit, hits: self.hits, negative: self.negative }
    }
}

/// Decodes a request.
pub fn decode_request(value: Value) -> Result<OwnedRequest, FieldError> {
    let mut fields = Fields::of("the request", value)?;
    let domain = fields.text(&["domain"])?.unwrap_or_default();
    let descriptors = fields.list(&["descriptors"])?.unwrap_or_default();
    let hits = fields.count_or_digits(&["hits_addend", "hitsAddend"])?.unwrap_or(0);
    fields.finish()?;
    u32::try_from(hits)
        .map_err(|_| FieldError::new("`hits_addend` of the request is more than 32 bits hold"))?;
    let descriptors = descriptors.into_iter().map(descriptor).collect::<Result<_, _>>()?;
    Ok(OwnedRequest { domain, descriptors, hits })
}

fn descriptor(value: Value) -> Result<OwnedDescriptor, FieldError> {
    let mut fields = Fields::of("a descriptor", value)?;
    let entries = fields.list(&["entries"])?.unwrap_or_default();
    let descriptor = OwnedDescriptor {
        entries: entries.into_iter().map(entry).collect::<Result<_, _>>()?,
        limit: fields.take(&["limit"]).map(limit).transpose()?,
        hits: fields.count_or_digits(&["hits_addend", "hitsAddend"])?,
        negative: fields.truth(&["is_negative_hits", "isNegativeHits"])?,
    };
    fields.finish().map(|()| descriptor)
}

fn entry(value: Value) -> Result<(String, String), FieldError> {
    let mut fields = Fields::of("an entry", value)?;
    let key = fields.text(&["key"])?.unwrap_or_default();
    let value = fields.text(&["value"])?.unwrap_or_default();
    fields.finish().map(|()| (key, value))
}

fn limit(value: Value) -> Result<LimitOverride, FieldError> {
    let mut fields = Fields::of("a limit", value)?;
    let amount = fields.count_or_digits(&["requests_per_unit", "requestsPerUnit"])?.unwrap_or(0);
    let amount = u32::try_from(amount)
        .map_err(|_| FieldError::new("`requests_per_unit` of a limit is more than 32 bits hold"))?;
    let unit = match fields.take(&["unit"]) {
        Some(Value::String(name)) => TimeUnit::from_name(&name),
        Some(number) => whole(&number)
            .and_then(|number| i32::try_from(number).ok())
            .map_or(TimeUnit::Unknown, TimeUnit::from_number),
        None => TimeUnit::Unknown,
    };
    fields.finish().map(|()| LimitOverride { amount, unit })
}

/// Encodes a response. Fields with default values are left out, as protobuf does.
pub fn encode_response(response: &RateLimitResponse<'_>) -> Value {
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

fn status(status: &DescriptorStatus<'_>) -> Value {
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
