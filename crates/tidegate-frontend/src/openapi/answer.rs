//! What an operation answers with one status.

use serde_json::{Map, Value, json};

use super::operation::{Example, media};
use super::{JSON, TEXT};
use tidegate_wire::problem::CONTENT_TYPE;

/// What an operation answers with one status.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) name: Option<&'static str>,
    description: &'static str,
    headers: Map<String, Value>,
    content: Map<String, Value>,
    links: Map<String, Value>,
}

impl Answer {
    /// One without a body.
    pub fn empty(description: &'static str) -> Self {
        Self { name: None, description, headers: Map::new(), content: Map::new(), links: Map::new() }
    }

    /// A body of JSON.
    pub fn json(description: &'static str, schema: &Value, examples: Vec<Example>) -> Self {
        Self::empty(description).containing(JSON, schema, examples)
    }

    /// A text.
    pub fn text(description: &'static str) -> Self {
        Self::empty(description).containing(TEXT, &json!({ "type": "string" }), Vec::new())
    }

    /// Problem details that are not about a limit.
    pub fn problem(description: &'static str) -> Self {
        Self::refusal(description, &json!({ "$ref": "#/components/schemas/Problem" }), Vec::new())
    }

    /// Problem details of that schema.
    pub fn refusal(description: &'static str, schema: &Value, examples: Vec<Example>) -> Self {
        Self::empty(description).containing(CONTENT_TYPE, schema, examples)
    }

    /// The same for other operations, under a name in the document.
    #[must_use]
    pub const fn shared(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// A body of another media type.
    #[must_use]
    pub fn containing(mut self, media_type: &str, schema: &Value, examples: Vec<Example>) -> Self {
        self.content.insert(media_type.to_owned(), media(schema, examples));
        self
    }

    /// A header that it may have, by its name in the document.
    #[must_use]
    pub fn with(mut self, header: &str) -> Self {
        let reference = json!({ "$ref": format!("#/components/headers/{header}") });
        self.headers.insert(header.to_owned(), reference);
        self
    }

    /// Several of them.
    #[must_use]
    pub fn with_all(self, headers: &[&str]) -> Self {
        headers.iter().fold(self, |answer, header| answer.with(header))
    }

    /// An operation that takes up what this one answered, with that body.
    #[must_use]
    pub fn linked(mut self, operation: &str, body: &Value) -> Self {
        self.links.insert(operation.to_owned(), json!({ "operationId": operation, "requestBody": body }));
        self
    }

    pub(super) fn described(self) -> Value {
        let mut described = json!({ "description": self.description });
        for (name, parts) in [("headers", self.headers), ("content", self.content), ("links", self.links)] {
            if !parts.is_empty() {
                described[name] = Value::Object(parts);
            }
        }
        described
    }
}
