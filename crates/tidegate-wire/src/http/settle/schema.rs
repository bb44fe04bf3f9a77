//! The schemas of what settles: the id of a decision, and a cost.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::http::question::schema::cost;

/// `{"id"}`.
pub(crate) struct ById;

/// `{"id", "cost"}`.
pub(crate) struct ByIdAndCost;

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

impl JsonSchema for ByIdAndCost {
    fn schema_name() -> Cow<'static, str> {
        "ByIdAndCost".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "required": ["id", "cost"],
            "additionalProperties": false,
            "properties": { "id": id(), "cost": cost(&["integer"], "What it really cost.") },
        })
    }
}

fn id() -> Value {
    json!({ "description": "The id of a decision.", "type": "string", "pattern": "^[0-9a-fA-F]{32}$" })
}
