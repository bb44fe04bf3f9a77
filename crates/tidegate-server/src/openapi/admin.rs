//! The routes of the admin door.

use serde_json::{Value, json};
use tidegate_frontend::openapi::ProblemSchema;
use tidegate_frontend::openapi::{Answer, Document, Example, Operation};

use crate::admin::{Explain, Explanation, Listed, Members, Reloaded, Rules, Set, Summary};

/// Names in paths, with an example.
const DOMAIN: (&str, &str) = ("domain", "api");
const RULE: (&str, &str) = ("rule", "per-key");

pub(super) fn describe(document: &mut Document) {
    document.schema::<ProblemSchema>();
    reading(document);
    switching(document);
    explaining(document);
}

/// How every request may end.
pub(super) fn common(operation: Operation) -> Operation {
    operation
        .answers("408", Answer::problem("It took too long to arrive or to be answered.").shared("Late"))
        .answers("414", Answer::empty("The address is too long.").shared("AddressTooLong"))
        .answers("431", Answer::empty("The headers are too large.").shared("HeadersTooLarge"))
        .answers("500", Answer::problem("Something broke on the way.").shared("Broken"))
}

/// How every request to the door may end.
fn guarded(operation: Operation) -> Operation {
    common(operation)
        .answers("403", Answer::problem("It comes from a page of another site.").shared("Foreign"))
        .answers(
            "421",
            Answer::problem("The door is called by another name than localhost or an address.")
                .shared("Misdirected"),
        )
}

fn reading(document: &mut Document) {
    let get = |path, id, summary, answer| Operation::new("get", path, id, summary).answers("200", answer);
    let html = Answer::empty("Links.").containing("text/html", &json!({ "type": "string" }), Vec::new());
    let rules = Answer::json("The rules.", &document.schema::<Rules>(), Vec::new());
    let summary = Answer::json("The version.", &document.schema::<Summary>(), Vec::new());
    let nodes = Answer::json("The nodes.", &document.schema::<Members>(), Vec::new());
    let reloaded = document.schema::<Reloaded>();
    let reload = Operation::new("post", "/admin/v1/reload", "reload", "Read the rules again")
        .answers("200", Answer::json("All are in force as written.", &reloaded, Vec::new()))
        .answers("422", Answer::json("Some are not.", &reloaded, Vec::new()))
        .answers("503", Answer::problem("They are being read already."));
    for operation in [
        get("/", "index", "What there is", html),
        get("/metrics", "metrics", "Counts and durations for Prometheus", Answer::text("Metrics.")),
        get("/admin/v1/rules", "rules", "The rules in force, and what was found in their files", rules),
        get("/admin/v1/snapshot", "snapshot", "Which version is in force since when", summary),
        get("/admin/v1/nodes", "nodes", "Who counts together", nodes),
        reload,
    ] {
        document.add(guarded(operation.tagged("rules")));
    }
}

fn switching(document: &mut Document) {
    let (listed, set) = (document.schema::<Listed>(), document.schema::<Set>());
    let list =
        Operation::new("get", "/admin/v1/switches", "switches", "Modes that are set over what the files say")
            .answers("200", Answer::json("All of them.", &listed, Vec::new()));
    document.add(guarded(list.tagged("switches")));
    let targets = [
        ("/admin/v1/switches", "All", &[][..]),
        ("/admin/v1/switches/{domain}", "Domain", &[DOMAIN]),
        ("/admin/v1/switches/{domain}/{rule}", "Rule", &[DOMAIN, RULE]),
    ];
    for (path, on, parameters) in targets {
        let put = Operation::new("put", path, format!("switch{on}"), "Set a mode")
            .takes(&set, vec![example()])
            .answers("400", Answer::problem("The body is wrong."))
            .answers("409", Answer::problem("There are too many switches."))
            .answers("413", Answer::problem("The body is too large.").shared("TooLarge"));
        let delete = Operation::new(
            "delete",
            path,
            format!("takeBack{on}"),
            "Take back what is set there, and on parts of it",
        );
        for operation in [put, delete] {
            let operation = parameters.iter().copied().map(named).fold(operation, Operation::parameter);
            let operation = operation
                .answers("200", Answer::json("All switches as they are then.", &listed, Vec::new()))
                .answers("404", Answer::problem("There is no such domain or rule, or nothing to take back."))
                .answers("503", Answer::problem("The rules are being read just now."));
            let operation = if parameters.is_empty() {
                operation
            } else {
                operation.answers("400", Answer::problem("The body, or a name in the path, is wrong."))
            };
            document.add(guarded(operation.tagged("switches")));
        }
    }
}

fn explaining(document: &mut Document) {
    let explanation = Answer::json("Its rules.", &document.schema::<Explanation>(), Vec::new());
    let value = json!({ "domain": "api", "attributes": { "api_key": "k1", "path": "/v1/orders" }, "at": "2026-12-24T18:00:00Z" });
    let explain = Operation::new(
        "post",
        "/admin/v1/explain",
        "explain",
        "Which rules a request meets, and why not the others",
    )
    .takes(&document.schema::<Explain>(), vec![Example { name: "request", value }])
    .answers("200", explanation)
    .answers("400", Answer::problem("It cannot be understood."))
    .answers("413", Answer::problem("The body is too large.").shared("TooLarge"));
    document.add(guarded(explain.tagged("rules")));
}

fn example() -> Example {
    Example {
        name: "for a while",
        value: json!({ "mode": "shadow", "for": "10m", "reason": "refuses everybody" }),
    }
}

/// A segment of a path.
fn named((name, example): (&str, &str)) -> Value {
    let schema = json!({ "type": "string", "minLength": 1 });
    json!({ "name": name, "in": "path", "required": true, "description": "`/` as `%2F`.", "schema": schema, "example": example })
}
