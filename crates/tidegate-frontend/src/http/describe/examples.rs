//! Examples. A question and its answer have the same name; a test asks all of them.

use serde_json::{Value, json};

use crate::openapi::Example;

const ID: &str = "5f0c2b7e9d4a41868c3e0f6b7a1d2c3e";

pub(super) fn checks() -> Vec<Example> {
    vec![
        Example { name: "passes", value: asked("k1", 1) },
        Example { name: "refused", value: asked("k1", 9) },
        Example { name: "batch", value: json!({ "checks": [asked("k2", 1), asked("k2", 9)] }) },
    ]
}

pub(super) fn decided() -> Vec<Example> {
    let first = with_status(told(true));
    vec![
        Example { name: "passes", value: told(true) },
        Example { name: "batch", value: json!({ "results": [first, problem()] }) },
    ]
}

pub(super) fn refused() -> Vec<Example> {
    vec![Example { name: "refused", value: problem() }]
}

pub(super) fn peeks() -> Vec<Example> {
    vec![Example { name: "passes", value: asked("k3", 1) }]
}

pub(super) fn peeked() -> Vec<Example> {
    vec![Example { name: "passes", value: told(true) }]
}

pub(super) fn reservations() -> Vec<Example> {
    let mut value = asked("k4", 4);
    value["hold_ms"] = json!(30_000);
    value["at_end"] = json!("give_back");
    vec![Example { name: "reserved", value }]
}

pub(super) fn reserved() -> Vec<Example> {
    vec![Example { name: "reserved", value: told(true) }]
}

pub(super) fn refunds() -> Vec<Example> {
    vec![Example { name: "refunded", value: asked("k5", 1) }]
}

pub(super) fn refunded() -> Vec<Example> {
    vec![Example { name: "refunded", value: told(true) }]
}

pub(super) fn id() -> Vec<Example> {
    vec![Example { name: "settled", value: json!({ "id": ID }) }]
}

pub(super) fn used() -> Vec<Example> {
    vec![Example { name: "settled", value: json!({ "id": ID, "cost": 3 }) }]
}

pub(super) fn settled() -> Vec<Example> {
    vec![Example { name: "settled", value: json!({ "settled": true }) }]
}

pub(super) fn renewed() -> Vec<Example> {
    vec![Example { name: "settled", value: json!({ "settled": true, "ends_after_ms": 60_000 }) }]
}

pub(super) fn envoy_asks() -> Vec<Example> {
    let descriptor = json!({ "entries": [{ "key": "api_key", "value": "k6" }] });
    vec![Example { name: "passes", value: json!({ "domain": "api", "descriptors": [descriptor] }) }]
}

pub(super) fn envoy_is_told() -> Vec<Example> {
    let current = json!({ "name": "per-key", "requestsPerUnit": 5, "unit": "MINUTE" });
    let status = json!({ "code": "OK", "currentLimit": current, "limitRemaining": 4 });
    vec![Example { name: "passes", value: json!({ "overallCode": "OK", "statuses": [status] }) }]
}

fn asked(api_key: &str, cost: u64) -> Value {
    let attributes = json!({ "api_key": api_key, "method": "GET", "path": "/v1/orders" });
    json!({ "domain": "api", "attributes": attributes, "cost": cost })
}

fn told(allowed: bool) -> Value {
    let (decision, reason) = if allowed { ("allow", "ok") } else { ("deny", "api_key-rate") };
    let denied_by: &[&str] = if allowed { &[] } else { &["per-key"] };
    let limit = json!({
        "rule": "per-key", "name": "per-key", "limit": 5, "window": 60, "remaining": 4,
        "reset_after_ms": 71_900, "retry_after_ms": null, "mode": "enforce", "allowed": allowed,
    });
    json!({
        "decision": decision, "id": ID, "denied_by": denied_by, "reason": reason, "state": "exact",
        "snapshot": 1, "delay_ms": null, "exceeded": [], "warnings": [], "limits": [limit],
    })
}

fn with_status(mut told: Value) -> Value {
    told["status"] = json!(200);
    told
}

/// What costs more than there can ever be is never worth another try.
fn problem() -> Value {
    let mut problem = told(false);
    let more = json!({
        "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
        "title": "Quota Exceeded",
        "status": 429,
        "detail": "the request costs more than the whole limit of 5 per 60 s of policy per-key: it can never pass",
        "instance": "urn:uuid:5f0c2b7e-9d4a-4186-8c3e-0f6b7a1d2c3e",
        "violated-policies": ["per-key"],
        "limit": 5,
        "window": 60,
        "code": "api_key-rate",
    });
    if let (Value::Object(members), Value::Object(more)) = (&mut problem, more) {
        members.extend(more);
    }
    problem
}
