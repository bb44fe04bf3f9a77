//! The schemas of checks. What is counted in bytes is bounded in characters here, which are never more.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use tidegate_engine::check::{
    MAX_ATTRIBUTES, MAX_COST, MAX_DESCRIPTORS, MAX_ENTRIES, MAX_NAME_BYTES, MAX_VALUE_BYTES,
};

use crate::door::question::{MAX_HOLD_MS, Question};
use crate::door::{DEFAULT_HOLD_MS, DoorSettings};

/// A check with what `reserve` takes besides.
pub(crate) struct Reservation;

/// A check with what `refund` takes besides.
pub(crate) struct Refund;

/// A check, or several.
pub(crate) struct Checks;

impl JsonSchema for Question {
    fn schema_name() -> Cow<'static, str> {
        "Check".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        object("May this request pass?", &properties())
    }
}

impl JsonSchema for Reservation {
    fn schema_name() -> Cow<'static, str> {
        "Reservation".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut properties = properties();
        properties["hold_ms"] = json!({
            "description": "How long it is held.",
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": MAX_HOLD_MS,
            "default": DEFAULT_HOLD_MS,
        });
        properties["at_end"] = json!({
            "description": "What becomes of it if it is not settled by then.",
            "enum": ["keep", "give_back", null],
            "default": "keep",
        });
        object("A check at an estimated cost, held until it is settled.", &properties)
    }
}

impl JsonSchema for Refund {
    fn schema_name() -> Cow<'static, str> {
        "Refund".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut properties = properties();
        properties["charged_at_ms"] = json!({
            "description": "When it was charged, in milliseconds of the Unix epoch; now unless it is said.",
            "type": ["integer", "null"],
            "minimum": 0,
            "maximum": u64::MAX,
        });
        object("A check whose charges are given back.", &properties)
    }
}

impl JsonSchema for Checks {
    fn schema_name() -> Cow<'static, str> {
        "CheckOrBatch".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let check = generator.subschema_for::<Question>();
        let batch = |nullable: &[&str]| {
            json!({
                "description": "Each is decided by itself, in order; what is no check is answered 400 in its place.",
                "type": nullable,
                "maxItems": DoorSettings::default().max_batch,
                "items": { "anyOf": [check, { "description": "Anything else." }] },
            })
        };
        json_schema!({
            "anyOf": [
                check,
                {
                    "type": "object",
                    "required": ["checks"],
                    "additionalProperties": false,
                    "properties": { "checks": batch(&["array", "null"]) },
                },
                batch(&["array"]),
            ],
        })
    }
}

fn object(description: &str, properties: &Value) -> Schema {
    json_schema!({
        "description": description,
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        // Something must be said: an empty object is no check.
        "anyOf": [
            { "required": ["domain"], "properties": { "domain": { "type": "string" } } },
            { "required": ["attributes"], "properties": { "attributes": { "type": "object", "minProperties": 1 } } },
            { "required": ["descriptors"], "properties": { "descriptors": { "type": "array", "minItems": 1 } } },
        ],
    })
}

fn text(most: usize) -> Value {
    json!({ "type": ["string", "number", "boolean"], "maxLength": most })
}

/// Attributes by their names.
pub(crate) fn attributes(types: &[&str], description: &str) -> Value {
    json!({
        "description": format!("{description} Values are text; numbers and truth values are taken as text."),
        "type": types,
        "maxProperties": MAX_ATTRIBUTES,
        "propertyNames": { "maxLength": MAX_NAME_BYTES },
        "additionalProperties": text(MAX_VALUE_BYTES),
    })
}

fn properties() -> Value {
    json!({
        "domain": {
            "description": "The domain whose rules apply. It may be left out if the rules have just one.",
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": MAX_NAME_BYTES,
        },
        "attributes": attributes(&["object", "null"], "Facts of the request."),
        "descriptors": {
            "description": "Descriptors as Envoy has them: lists of entries, each a key and a value.",
            "type": ["array", "null"],
            "maxItems": MAX_DESCRIPTORS,
            "items": {
                "type": "array",
                "maxItems": MAX_ENTRIES,
                "items": {
                    "type": "array",
                    "prefixItems": [text(MAX_NAME_BYTES), text(MAX_VALUE_BYTES)],
                    "minItems": 2,
                    "maxItems": 2,
                },
            },
        },
        "cost": cost(&["integer", "null"], "How many times the cost of one request it takes; 0 charges nothing."),
        "idempotency_key": {
            "description": "Under it, the same check is charged once within 24 hours, however often it is delivered.",
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": MAX_NAME_BYTES,
        },
    })
}

/// A cost.
pub(crate) fn cost(types: &[&str], description: &str) -> Value {
    let mut cost = json!({ "description": description, "type": types, "minimum": 0, "maximum": MAX_COST });
    if types.contains(&"null") {
        cost["default"] = json!(1);
    }
    cost
}
