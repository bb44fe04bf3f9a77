//! One thing that a door does, under a method and a path.

use serde_json::{Map, Value, json};

use super::{Answer, JSON, Token, parts};

/// One thing that a door does.
#[derive(Clone, Debug)]
pub struct Operation {
    pub(super) method: &'static str,
    pub(super) path: String,
    id: String,
    summary: &'static str,
    description: &'static str,
    tag: &'static str,
    is_open: bool,
    parameters: Vec<Value>,
    body: Option<Value>,
    answers: Map<String, Value>,
    pub(super) shared: Shared,
}

/// What operations refer to instead of repeating it, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared {
    pub(super) parameters: Map<String, Value>,
    pub(super) answers: Map<String, Value>,
}

/// A body that is asked with, or answered.
#[derive(Clone, Debug)]
pub struct Example {
    /// A question and its answer have the same.
    pub name: &'static str,
    /// The body.
    pub value: Value,
}

impl Operation {
    /// What a method (in small letters) does at a path.
    pub fn new(method: &'static str, path: &str, id: impl Into<String>, summary: &'static str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            id: id.into(),
            summary,
            description: "",
            tag: "",
            is_open: false,
            parameters: Vec::new(),
            body: None,
            answers: Map::new(),
            shared: Shared::default(),
        }
    }

    /// Among which others it stands.
    #[must_use]
    pub const fn tagged(mut self, tag: &'static str) -> Self {
        self.tag = tag;
        self
    }

    /// More about it.
    #[must_use]
    pub const fn about(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// Whoever asks is answered, with or without a token.
    #[must_use]
    pub const fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// A parameter, as the standard describes it.
    #[must_use]
    pub fn parameter(mut self, parameter: Value) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// A parameter that other operations have as well.
    #[must_use]
    pub fn shared_parameter(mut self, name: &str, parameter: Value) -> Self {
        self.shared.parameters.insert(name.to_owned(), parameter);
        self.parameter(json!({ "$ref": format!("#/components/parameters/{name}") }))
    }

    /// A body of JSON that has to be there.
    #[must_use]
    pub fn takes(mut self, schema: &Value, examples: Vec<Example>) -> Self {
        self.body = Some(json!({ "required": true, "content": { JSON: media(schema, examples) } }));
        self
    }

    /// An answer with a status.
    #[must_use]
    pub fn answers(mut self, status: &str, answer: Answer) -> Self {
        let described = match answer.name {
            None => answer.described(),
            Some(name) => {
                self.shared.answers.insert(name.to_owned(), answer.described());
                json!({ "$ref": format!("#/components/responses/{name}") })
            }
        };
        self.answers.insert(status.to_owned(), described);
        self
    }

    /// With what is answered to those who do not show a token.
    pub(super) fn completed(self) -> Self {
        if self.is_open {
            return self;
        }
        let unknown = Answer::problem("The door wants its token.").with("WWW-Authenticate");
        self.answers("401", unknown.shared("Unauthorized"))
    }

    pub(super) fn described(self, token: Token) -> Value {
        let mut described = json!({
            "operationId": self.id,
            "summary": self.summary,
            "responses": self.answers,
            "security": parts::security(self.is_open, token),
        });
        let more = [
            ("description", json!(self.description), self.description.is_empty()),
            ("tags", json!([self.tag]), self.tag.is_empty()),
            ("parameters", json!(self.parameters), self.parameters.is_empty()),
            ("requestBody", json!(self.body), self.body.is_none()),
        ];
        for (name, value, _) in more.into_iter().filter(|(_, _, is_empty)| !is_empty) {
            described[name] = value;
        }
        described
    }
}

/// A body with its schema and examples.
pub(super) fn media(schema: &Value, examples: Vec<Example>) -> Value {
    let mut media = json!({ "schema": schema });
    if !examples.is_empty() {
        let named = examples.into_iter().map(|one| (one.name.to_owned(), json!({ "value": one.value })));
        media["examples"] = Value::Object(named.collect());
    }
    media
}
