//! Answers that several routes have in common.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::examples;
use crate::http::answer::Told;
use crate::openapi::ProblemSchema;
use crate::openapi::{Answer, Operation};

/// What may be told of limits on every answer that tells a decision.
pub(super) const LIMITS: [&str; 10] = [
    "RateLimit",
    "RateLimit-Policy",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-RateLimit-Used",
    "X-RateLimit-Resource",
];

/// Problem details that tell a decision.
pub(super) struct Refusal;

impl JsonSchema for Refusal {
    fn schema_name() -> Cow<'static, str> {
        "Refusal".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (problem, decision) =
            (generator.subschema_for::<ProblemSchema>(), generator.subschema_for::<Told>());
        json_schema!({ "allOf": [problem, decision] })
    }
}

/// How decisions refuse.
pub(super) fn refusing(operation: Operation, refusal: &Value) -> Operation {
    let either = json!({ "anyOf": [refusal, { "$ref": "#/components/schemas/Problem" }] });
    let refused = |says, schema: &Value, examples| {
        let told = Answer::refusal(says, schema, examples).with_all(&LIMITS);
        told.with("X-RateLimit-Denied-By").with("Retry-After")
    };
    operation
        .answers("403", refused("A rule shuts it out.", &either, Vec::new()).shared("Blocked"))
        .answers(
            "422",
            Answer::problem("The idempotency key was used for a check with other charges.")
                .shared("Conflict"),
        )
        .answers("429", refused("A limit is spent.", &either, examples::refused()).shared("Refused"))
        .answers(
            "503",
            refused("Nobody could decide, or there is too much to do.", &either, Vec::new())
                .shared("Undecided"),
        )
        .answers(
            "4XX",
            refused("A rule refuses with a status of its own.", &either, Vec::new())
                .shared("RefusedByStatus"),
        )
        .answers(
            "5XX",
            refused("A rule refuses with a status of its own.", &either, Vec::new())
                .shared("RefusedByStatus"),
        )
}

/// How settling fails.
pub(super) fn settling(operation: Operation) -> Operation {
    operation
        .answers(
            "410",
            Answer::problem("There is nothing under that id: settled before, ended, or never there.")
                .shared("Gone"),
        )
        .answers(
            "503",
            Answer::problem("It could not be settled just now.").with("Retry-After").shared("NotSettled"),
        )
}

/// How bodies of JSON are refused.
pub(super) fn with_body(operation: Operation) -> Operation {
    let not_json = Answer::problem("The body is said to be something else than JSON.").shared("NotJson");
    common(of_bodies(operation)).answers("415", not_json)
}

/// How bodies are refused.
pub(super) fn of_bodies(operation: Operation) -> Operation {
    operation
        .answers("413", Answer::problem("The body is too large.").shared("TooLarge"))
        .shared_parameter(
            "Timeout",
            patience("X-Request-Timeout-Ms", "How long the caller waits, in milliseconds."),
        )
        .shared_parameter(
            "EnvoyTimeout",
            patience(
                "X-Envoy-Expected-Rq-Timeout-Ms",
                "The same, as Envoy tells it; the shorter one counts.",
            ),
        )
}

/// How every request may end.
pub(super) fn common(operation: Operation) -> Operation {
    operation
        .answers(
            "400",
            Answer::problem("It cannot be understood; the detail says what to write.").shared("Malformed"),
        )
        .answers("408", Answer::problem("It took too long to arrive or to be answered.").shared("Late"))
        .answers("414", Answer::empty("The address is too long.").shared("AddressTooLong"))
        .answers("431", Answer::empty("The headers are too large.").shared("HeadersTooLarge"))
        .answers("500", Answer::problem("Something broke on the way.").shared("Broken"))
}

/// What is no number is as if it were not there.
fn patience(name: &str, description: &str) -> Value {
    json!({ "name": name, "in": "header", "description": description, "schema": { "type": "string" }, "example": "50" })
}
