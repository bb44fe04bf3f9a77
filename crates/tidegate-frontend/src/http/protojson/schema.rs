//! The schemas of Envoy's messages in protobuf's JSON. Fields have their JSON names here; protobuf's own
//! (`hits_addend`) are taken as well.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use tidegate_engine::check::{MAX_COST, MAX_DESCRIPTORS, MAX_ENTRIES, MAX_NAME_BYTES, MAX_VALUE_BYTES};

use tidegate_wire::envoy::TimeUnit;

/// What is asked.
pub(crate) struct RateLimitRequest;

/// What is answered.
pub(crate) struct RateLimitResponse;

impl JsonSchema for RateLimitRequest {
    fn schema_name() -> Cow<'static, str> {
        "RateLimitRequest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "envoy.service.ratelimit.v3.RateLimitRequest. protobuf's own names of fields (hits_addend) are taken too.",
            "type": "object",
            "required": ["domain", "descriptors"],
            "additionalProperties": false,
            "properties": {
                "domain": { "type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES },
                "descriptors": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MAX_DESCRIPTORS,
                    "items": descriptor(),
                },
                "hitsAddend": number(u32::MAX.into(), 9, "The cost of descriptors that have none of their own; 0 is 1."),
            },
        })
    }
}

impl JsonSchema for RateLimitResponse {
    fn schema_name() -> Cow<'static, str> {
        "RateLimitResponse".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let headers = json!({
            "type": "array",
            "items": {
                "type": "object",
                "required": ["key", "value"],
                "properties": { "key": { "type": "string" }, "value": { "type": "string" } },
            },
        });
        json_schema!({
            "description": "envoy.service.ratelimit.v3.RateLimitResponse. Fields that have nothing to say are left out.",
            "type": "object",
            "required": ["overallCode"],
            "properties": {
                "overallCode": { "enum": ["OK", "OVER_LIMIT"] },
                "statuses": { "type": "array", "items": status() },
                "responseHeadersToAdd": headers,
                "requestHeadersToAdd": headers,
                "rawBody": { "description": "The body of a refusal.", "type": "string", "contentEncoding": "base64" },
                "dynamicMetadata": { "type": "object" },
            },
        })
    }
}

fn descriptor() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "entries": {
                "type": ["array", "null"],
                "maxItems": MAX_ENTRIES,
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "key": { "type": ["string", "null"], "maxLength": MAX_NAME_BYTES },
                        "value": { "type": ["string", "null"], "maxLength": MAX_VALUE_BYTES },
                    },
                },
            },
            "limit": limit(),
            "hitsAddend": number(MAX_COST, 12, "Its own cost; 0 only asks whether there is room for one more."),
            "isNegativeHits": { "description": "Whether the cost is given back.", "type": ["boolean", "null"] },
        },
    })
}

fn limit() -> Value {
    json!({
        "description": "A limit in place of the one that the rules have.",
        "type": ["object", "null"],
        "required": ["unit"],
        "additionalProperties": false,
        "properties": {
            "requestsPerUnit": number(u32::MAX.into(), 9, "How many per unit."),
            "unit": { "enum": units().chain((1..=7).map(Value::from)).collect::<Vec<_>>() },
        },
    })
}

fn status() -> Value {
    json!({
        "type": "object",
        "required": ["code"],
        "properties": {
            "code": { "enum": ["OK", "OVER_LIMIT"] },
            "currentLimit": {
                "type": "object",
                "properties": {
                    "name": { "type": "string" },
                    "requestsPerUnit": { "type": "integer", "minimum": 0 },
                    "unit": { "enum": units().chain(["UNKNOWN".into()]).collect::<Vec<_>>() },
                },
            },
            "limitRemaining": { "type": "integer", "minimum": 0 },
            "durationUntilReset": { "type": "string", "pattern": "^[0-9]+s$" },
        },
    })
}

fn units() -> impl Iterator<Item = Value> {
    TimeUnit::known().map(|unit| Value::from(unit.name()))
}

/// A number, or its digits.
fn number(most: u64, digits: u8, description: &str) -> Value {
    json!({
        "description": description,
        "anyOf": [
            { "type": ["integer", "null"], "minimum": 0, "maximum": most },
            { "type": "string", "pattern": format!("^[0-9]{{1,{digits}}}$") },
        ],
    })
}
