//! The schemas of what settles: the id of a decision, and what was used.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::http::question::schema::{attributes, cost};

/// `{"id"}`.
pub(crate) struct ById;

/// `{"id", "cost"}` or `{"id", "attributes"}`.
pub(crate) struct Commit;

impl JsonSchema for ById {
    fn schema_name() -> Cow<'static, str> {
        "ById".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "required": ["id"],
            "additionalProperties": false,
            "properties": { "id": id() },
        })
    }
}

impl JsonSchema for Commit {
    fn schema_name() -> Cow<'static, str> {
        "Commit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut measured =
            attributes(&["object"], "Attributes from which rules of the reservation take their cost anew.");
        measured["minProperties"] = json!(1);
        json_schema!({
            "description": "What a reservation really used: its cost, or attributes that rules measure.",
            "anyOf": [
                {
                    "type": "object",
                    "required": ["id", "cost"],
                    "additionalProperties": false,
                    "properties": {
                        "id": id(),
                        "cost": cost(&["integer"], "What it really cost, in place of what was estimated."),
                        "attributes": { "type": ["object", "null"], "maxProperties": 0 },
                    },
                },
                {
                    "type": "object",
                    "required": ["id", "attributes"],
                    "additionalProperties": false,
                    "properties": { "id": id(), "attributes": measured, "cost": { "type": "null" } },
                },
            ],
        })
    }
}

fn id() -> Value {
    json!({ "description": "The id of a decision.", "type": "string", "pattern": "^[0-9a-fA-F]{32}$" })
}
