//! What operations have in common: headers, and the ways to show a token.

use serde_json::{Map, Value, json};

use super::Token;

/// Headers of answers: name, schema and what each says. Which of them are written is a setting.
const HEADERS: [(&str, &str, &str); 15] = [
    (
        "RateLimit",
        "string",
        "What is left of each limit: a list of structured items (draft-ietf-httpapi-ratelimit-headers-10).",
    ),
    ("RateLimit-Policy", "string", "The limits that apply, whatever is left of them (the same draft)."),
    (
        "RateLimit-Limit",
        "string",
        "Draft-03: the amount of the most restrictive limit, then of each with its window.",
    ),
    ("RateLimit-Remaining", "integer", "Draft-03: what is left of the most restrictive limit."),
    ("RateLimit-Reset", "integer", "Draft-03: seconds until more of it is available."),
    (
        "X-RateLimit-Limit",
        "integer",
        "The amount of the most restrictive limit, if the older headers are on.",
    ),
    ("X-RateLimit-Remaining", "integer", "What is left of it."),
    (
        "X-RateLimit-Reset",
        "integer",
        "When more of it is available: seconds from now or of the Unix epoch, as it is set.",
    ),
    ("X-RateLimit-Used", "integer", "What has been taken of it."),
    ("X-RateLimit-Resource", "string", "The part of the API that it is for."),
    (
        "X-RateLimit-Denied-By",
        "string",
        "Of a refusal: what was counted by, and the rule, such as `user;rule=\"per-user\"`.",
    ),
    ("Retry-After", "integer", "Seconds until it is worth another try."),
    ("WWW-Authenticate", "string", "How to show the token: `Bearer`."),
    ("X-Tidegate-Degrade", "string", "The rule that asks whoever serves the request to do less."),
    ("X-Tidegate-Delay-Ms", "integer", "Milliseconds to hold the request back before it is served."),
];

pub(super) fn headers() -> Value {
    let described = HEADERS.into_iter().map(|(name, kind, says)| {
        let schema = match kind {
            "integer" => json!({ "type": kind, "minimum": 0 }),
            _ => json!({ "type": kind }),
        };
        (name.to_owned(), json!({ "description": says, "schema": schema }))
    });
    Value::Object(described.collect::<Map<_, _>>())
}

pub(super) fn security_schemes() -> Value {
    json!({
        "bearer": { "type": "http", "scheme": "bearer", "description": "The token of the door: `Authorization: Bearer …`." },
        "token": {
            "type": "apiKey",
            "in": "header",
            "name": "X-Tidegate-Token",
            "description": "The same where `Authorization` is the client's own.",
        },
    })
}

/// Either of them; none if the operation is open, or may be.
pub(super) fn security(is_open: bool, token: Token) -> Value {
    match token {
        _ if is_open => json!([]),
        Token::Wanted => json!([{ "bearer": [] }, { "token": [] }]),
        Token::Maybe => json!([{ "bearer": [] }, { "token": [] }, {}]),
    }
}
