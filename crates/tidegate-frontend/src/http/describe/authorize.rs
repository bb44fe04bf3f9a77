//! Forward-auth: one route, any method.

use serde_json::{Value, json};
use tidegate_engine::check::MAX_COST;

use super::answers::{self, LIMITS, Refusal};
use crate::http::authorize::query::MOST_MS;
use crate::openapi::{Answer, Document, Operation};

const METHODS: [(&str, &str); 8] = [
    ("get", "authorize"),
    ("head", "authorizeHead"),
    ("post", "authorizePost"),
    ("put", "authorizePut"),
    ("patch", "authorizePatch"),
    ("delete", "authorizeDelete"),
    ("options", "authorizeOptions"),
    ("trace", "authorizeTrace"),
];

const ABOUT: &str = "How to ask stands in the query, which the proxy's configuration fixes. What is told of the request comes from headers: \
    X-Forwarded-For, and of one family -Method, -Uri, -Host and -Proto; they count if the peer is trusted. A body is not read.";

pub(super) fn describe(document: &mut Document) {
    let refusal = document.schema::<Refusal>();
    for (method, id) in METHODS {
        let operation =
            Operation::new(method, "/v1/authorize", id, "May the request that a proxy holds pass?")
                .about(ABOUT);
        let operation = parameters()
            .into_iter()
            .fold(operation, |operation, (name, parameter)| operation.shared_parameter(name, parameter));
        let passes = Answer::empty("It may pass.").with_all(&LIMITS);
        let passes = passes.with("X-Tidegate-Degrade").with("X-Tidegate-Delay-Ms").shared("Passes");
        let operation = answers::refusing(operation.answers("200", passes), &refusal);
        document.add(answers::common(operation).tagged("forward-auth"));
    }
}

fn parameters() -> [(&'static str, Value); 6] {
    let number = |name: &str, (least, most): (u64, u64), says: &str| {
        let schema = json!({ "type": "integer", "minimum": least, "maximum": most });
        json!({ "name": name, "in": "query", "description": says, "schema": schema })
    };
    let named = json!({
        "name": "named",
        "in": "query",
        "style": "form",
        "explode": true,
        "description": "`header.NAME=ATTRIBUTE`: the value of that header is that attribute. `attribute.NAME=VALUE`: an attribute that all these requests have.",
        "schema": {
            "type": "object",
            "patternProperties": {
                "^header\\.[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$": { "type": "string", "minLength": 1, "maxLength": 256 },
                "^attribute\\.[\\s\\S]{1,256}$": { "type": "string", "maxLength": 16384 },
            },
            "additionalProperties": false,
            "maxProperties": 100,
        },
        "example": { "header.x-api-key": "api_key" },
    });
    let domain = json!({
        "name": "domain",
        "in": "query",
        "description": "The domain of the rules. It may be left out if the rules have just one.",
        "schema": { "type": "string", "minLength": 1, "maxLength": 256 },
        "example": "api",
    });
    let from = json!({
        "name": "from",
        "in": "query",
        "description": "The headers that the proxy writes. Others are not read.",
        "schema": { "enum": ["forwarded", "original", "original_url"], "default": "forwarded" },
    });
    let cost = number(
        "cost",
        (0, MAX_COST),
        "How many times the cost of one request it takes; 1 unless it is said.",
    );
    let deny_status = number(
        "deny_status",
        (400, 599),
        "The status of all refusals, but for the 503 of what nobody could decide.",
    );
    let timeout_ms = number("timeout_ms", (1, MOST_MS), "How long the proxy waits.");
    [
        ("Domain", domain),
        ("From", from),
        ("Cost", cost),
        ("DenyStatus", deny_status),
        ("TimeoutMs", timeout_ms),
        ("Named", named),
    ]
}
