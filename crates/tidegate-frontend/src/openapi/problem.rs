//! The schema of problem details.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Stands for the body of a refusal.
#[derive(Debug)]
pub struct ProblemSchema;

impl JsonSchema for ProblemSchema {
    fn schema_name() -> Cow<'static, str> {
        "Problem".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Problem details (RFC 9457). They repeat no value of the request.",
            "type": "object",
            "required": ["type", "title", "status"],
            "properties": {
                "type": { "type": "string", "format": "uri-reference" },
                "title": { "type": "string" },
                "status": { "type": "integer", "minimum": 400, "maximum": 599 },
                "detail": { "description": "What happened, and what to do about it.", "type": "string" },
                "instance": { "description": "The decision's id as a URI.", "type": "string", "format": "uri-reference" },
                "violated-policies": { "type": "array", "items": { "type": "string" } },
                "retry-after": { "description": "Seconds, as in `Retry-After`.", "type": "integer", "minimum": 0 },
                "limit": { "description": "Of the limit that binds most.", "type": "integer", "minimum": 0 },
                "window": { "description": "The same limit's, in seconds.", "type": "integer", "minimum": 0 },
                "code": { "description": "The reason in one word.", "type": "string" },
            },
        })
    }
}
