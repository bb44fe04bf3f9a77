//! An OpenAPI 3.1 document, put together from operations and from the types that go over the wire.
//!
//! Answers are described by what they are serialized from. Questions are read by hand for the sake of speed and of what is
//! said of mistakes; their schemas stand beside their readers, and tests hold one against the other.

mod operation;
mod problem;
mod answer;
mod parts;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

pub use answer::Answer;
pub use operation::{Example, Operation};
pub use problem::ProblemSchema;

use operation::Shared;

/// The media type of JSON.
pub const JSON: &str = "application/json";
/// The media type of plain text.
pub const TEXT: &str = "text/plain";

/// Whether a door wants its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// Nobody is answered without it.
    Wanted,
    /// That depends on its settings.
    Maybe,
}

/// A document that grows by operations.
#[derive(Debug)]
pub struct Document {
    title: &'static str,
    description: &'static str,
    token: Token,
    generator: SchemaGenerator,
    paths: Map<String, Value>,
    shared: Shared,
}

impl Document {
    /// One without operations.
    pub fn new(title: &'static str, description: &'static str, token: Token) -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Self {
            title,
            description,
            token,
            generator: settings.into_generator(),
            paths: Map::new(),
            shared: Shared::default(),
        }
    }

    /// What refers to the schema of a type.
    pub fn schema<T: JsonSchema>(&mut self) -> Value {
        self.generator.subschema_for::<T>().to_value()
    }

    /// Adds an operation.
    pub fn add(&mut self, operation: Operation) {
        let mut operation = operation.completed();
        let (method, path) = (operation.method, operation.path.clone());
        self.shared.parameters.append(&mut operation.shared.parameters);
        self.shared.answers.append(&mut operation.shared.answers);
        let described = operation.described(self.token);
        self.paths.entry(path).or_insert_with(|| json!({}))[method] = described;
    }

    /// The whole.
    pub fn finish(mut self) -> Value {
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": self.title,
                "description": self.description,
                "version": env!("CARGO_PKG_VERSION"),
                "license": { "name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT" },
            },
            "servers": [{ "url": "/" }],
            "paths": self.paths,
            "components": {
                "schemas": self.generator.take_definitions(true),
                "parameters": self.shared.parameters,
                "responses": self.shared.answers,
                "headers": parts::headers(),
                "securitySchemes": parts::security_schemes(),
            },
        })
    }
}
