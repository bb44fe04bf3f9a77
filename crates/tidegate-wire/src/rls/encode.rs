//! What Envoy is sent.

use envoy_types::pb::envoy::config::core::v3::HeaderValue;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitResponse;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::{
    Code, DescriptorStatus, RateLimit,
};
use envoy_types::pb::google::protobuf::value::Kind;
use envoy_types::pb::google::protobuf::{Duration, ListValue, Struct, Value};
use http::HeaderMap;
use serde_json::Value as Json;

use crate::ratelimit::{Response, Status};

pub(super) fn response(response: Response) -> RateLimitResponse {
    RateLimitResponse {
        overall_code: code(!response.allowed),
        statuses: response.statuses.into_iter().map(status).collect(),
        response_headers_to_add: headers(&response.to_client),
        request_headers_to_add: response
            .to_upstream
            .into_iter()
            .map(|(name, value)| header(name, value))
            .collect(),
        raw_body: response.body,
        dynamic_metadata: fields(response.metadata),
        quota: None,
    }
}

fn code(over: bool) -> i32 {
    if over { Code::OverLimit.into() } else { Code::Ok.into() }
}

fn status(status: Status) -> DescriptorStatus {
    let seconds = status.reset_s.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
    DescriptorStatus {
        code: code(status.over),
        current_limit: status.current.map(|current| RateLimit {
            name: current.name,
            requests_per_unit: current.amount,
            unit: current.unit as i32,
        }),
        limit_remaining: status.remaining,
        duration_until_reset: seconds.map(|seconds| Duration { seconds, nanos: 0 }),
        quota: None,
    }
}

fn headers(headers: &HeaderMap) -> Vec<HeaderValue> {
    let texts = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    texts.map(|(name, value)| header(name, value.to_owned())).collect()
}

fn header(name: &str, value: String) -> HeaderValue {
    HeaderValue { key: name.to_owned(), value, raw_value: Vec::new() }
}

fn fields(json: Json) -> Option<Struct> {
    match json {
        Json::Object(map) => {
            Some(Struct { fields: map.into_iter().map(|(name, json)| (name, value(json))).collect() })
        }
        _ => None,
    }
}

fn value(json: Json) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(truth) => Kind::BoolValue(truth),
        Json::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Kind::StringValue(text),
        Json::Array(list) => Kind::ListValue(ListValue { values: list.into_iter().map(value).collect() }),
        object @ Json::Object(_) => Kind::StructValue(fields(object).unwrap_or_default()),
    };
    Value { kind: Some(kind) }
}
