//! Routes that everybody may ask: how the server is, and what it answers.

use serde_json::json;
use tidegate_frontend::openapi::{Answer, Document, Operation};

/// What both doors have; this document at that path.
pub(super) fn describe(document: &mut Document, path: &str) {
    let alive =
        Operation::new("get", "/healthz", "alive", "Is it alive?").answers("200", Answer::text("It is."));
    let ready = Operation::new("get", "/readyz", "ready", "Are new requests welcome?")
        .answers("200", Answer::text("They are."))
        .answers("503", Answer::text("It is stopping."));
    let itself = Answer::json("The document.", &json!({ "type": "object" }), Vec::new());
    let openapi = Operation::new("get", path, "openapi", "This document").answers("200", itself);
    for operation in [alive, ready, openapi] {
        document.add(common(operation));
    }
}

/// As envoyproxy/ratelimit has it.
pub(super) fn healthcheck() -> Operation {
    let operation =
        Operation::new("get", "/healthcheck", "healthcheck", "Is it ready? As envoyproxy/ratelimit has it");
    let operation = operation.answers("200", Answer::text("It is."));
    common(operation).answers("500", Answer::empty("It is stopping."))
}

fn common(operation: Operation) -> Operation {
    super::admin::common(operation.tagged("health").open())
}
