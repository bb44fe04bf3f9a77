//! What the door tells about itself: its operations for an OpenAPI document.

mod answers;
mod authorize;
mod examples;

use serde_json::json;

use super::answer::Told;
use super::decide::Results;
use super::protojson::schema::{RateLimitRequest, RateLimitResponse};
use super::question::schema::{Checks, Refund, Reservation};
use super::settle::schema::{ById, Commit};
use super::settle::{Done, Renewed};
use crate::openapi::{Answer, Document, Operation, ProblemSchema};
use answers::{LIMITS, Refusal, with_body};

/// Adds all routes of the door to a document.
pub fn describe(document: &mut Document) {
    document.schema::<ProblemSchema>();
    asking(document);
    settling(document);
    authorize::describe(document);
    envoy(document);
}

/// The routes that ask.
fn asking(document: &mut Document) {
    let (one, several) = (document.schema::<Told>(), document.schema::<Results>());
    let both = json!({ "anyOf": [one, several] });
    let checks = document.schema::<Checks>();
    let by_id = json!({ "id": "$response.body#/id" });
    let decided = Answer::json("It may pass; of a batch, each result says.", &both, examples::decided());
    let check = Operation::new("post", "/v1/check", "check", "May this request pass?")
        .about("Charges all limits that the request meets, or none. A list of checks, or one under `checks`, is a batch.")
        .takes(&checks, examples::checks())
        .answers("200", decided.with_all(&LIMITS));
    let peek = Operation::new("post", "/v1/peek", "peek", "Would it pass?")
        .about("Tells what a check would be told; nothing is charged.")
        .takes(&checks, examples::peeks())
        .answers(
            "200",
            Answer::json("It would pass; of a batch, each result says.", &both, examples::peeked())
                .with_all(&LIMITS),
        );
    let settled = json!({ "id": "$response.body#/id", "cost": 1 });
    let reserved = Answer::json(
        "The estimate is charged, and held under the decision's `id`.",
        &one,
        examples::reserved(),
    );
    let reserve = Operation::new("post", "/v1/reserve", "reserve", "Charge an estimate")
        .takes(&document.schema::<Reservation>(), examples::reservations())
        .answers("200", reserved.linked("commit", &settled).linked("cancel", &by_id).with_all(&LIMITS));
    let refund = Operation::new("post", "/v1/refund", "refund", "Give back what such a check is charged")
        .about("Under the rules in force, as far as it still counts.")
        .takes(&document.schema::<Refund>(), examples::refunds())
        .answers("200", Answer::json("It is given back.", &one, examples::refunded()).with_all(&LIMITS));
    let refusal = document.schema::<Refusal>();
    for operation in [check, peek, reserve, refund] {
        document.add(with_body(answers::refusing(operation, &refusal).tagged("checks")));
    }
}

/// The routes that settle what an earlier decision holds.
fn settling(document: &mut Document) {
    let (done, renewed) = (document.schema::<Done>(), document.schema::<Renewed>());
    let (id, used) = (document.schema::<ById>(), document.schema::<Commit>());
    let settled = || Answer::json("It is settled.", &done, examples::settled());
    let commit =
        Operation::new("post", "/v1/commit", "commit", "Settle a reservation at what was really used")
            .about("Less is given back, more is a debt. By `cost`, rules that take their cost from an attribute are charged that number and the others keep their cost; where none does, it takes the place of the cost of the check. By `attributes`, rules that take their cost from one of them take it anew.")
            .takes(&used, examples::used())
            .answers("200", settled());
    let cancel = Operation::new("post", "/v1/cancel", "cancel", "Settle a reservation at nothing")
        .takes(&id, examples::id())
        .answers("200", settled());
    let release = Operation::new("post", "/v1/release", "release", "Give back the slots of a check")
        .takes(&id, examples::id())
        .answers("200", settled());
    let renew = Operation::new("post", "/v1/renew", "renew", "Let the slots of a check last another term")
        .takes(&id, examples::id())
        .answers("200", Answer::json("They last longer.", &renewed, examples::renewed()));
    for operation in [commit, cancel, release, renew] {
        document.add(with_body(answers::settling(operation).tagged("settling")));
    }
}

/// envoyproxy/ratelimit's route.
fn envoy(document: &mut Document) {
    let answer = document.schema::<RateLimitResponse>();
    let operation = Operation::new(
        "post",
        "/json",
        "shouldRateLimit",
        "May this request pass? As envoyproxy/ratelimit has it",
    )
    .about("Envoy's messages in protobuf's JSON. The content type is not looked at.")
    .takes(&document.schema::<RateLimitRequest>(), examples::envoy_asks())
    .answers("200", Answer::json("It may pass.", &answer, examples::envoy_is_told()).with_all(&LIMITS))
    .answers("429", Answer::json("It may not.", &answer, Vec::new()).with_all(&LIMITS).with("Retry-After"));
    let operation = operation.answers(
        "503",
        Answer::problem("Nobody could decide, or there is too much to do.").with("Retry-After"),
    );
    let by_rule = || {
        let told = Answer::json("A rule refuses with a status of its own.", &answer, Vec::new());
        told.with_all(&LIMITS).with("Retry-After")
    };
    let operation = operation.answers("4XX", by_rule()).answers("5XX", by_rule());
    document.add(answers::common(answers::of_bodies(operation)).tagged("checks"));
}
