//! `/v1/authorize`: forward-auth. A proxy asks about a request that it holds, with the headers of that request; 200 lets it
//! pass, anything else is what the proxy answers.
//!
//! How the proxy asks stands in the address of the route (`query`), which its configuration fixes and no client can change.
//! What it tells of the request is in headers (`facts`), and clients may have written them: only those of the family that
//! the address names are read, and only from callers that are trusted. A body is not read.

mod percent;
mod path;
pub(super) mod query;
mod facts;
#[cfg(test)]
mod tests;

use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderName, HeaderValue, StatusCode};
use tidegate_engine::{Check, Decision, Malformed};
use tidegate_store::Store;

use super::answer::Answer;
use super::body;
use crate::door::{Door, told};
use crate::ratelimit;
use facts::Facts;
use query::Query;
use tidegate_wire::headers::HeaderLines;
use tidegate_wire::problem::Problem;

/// Tells the operator of the proxy why no limit applies. The body of an admission is empty.
const WARNING: HeaderName = HeaderName::from_static("x-tidegate-warning");

pub(super) async fn authorize<S: Store>(State(door): State<Door<S>>, request: Request) -> Response {
    let (parts, _unread) = request.into_parts();
    let query = Query::read(parts.uri.query().unwrap_or_default());
    let query = match query.and_then(|query| query.in_domain_of(&door)) {
        Ok(query) => query,
        Err(wrong) => return body::refuse(&door, &wrong.into()).into_response(),
    };
    let facts = match Facts::of(&door, &query, &parts) {
        Ok(facts) => facts,
        Err(wrong) => return body::refuse(&door, &denied(wrong.into(), &query)).into_response(),
    };
    let pairs = facts.pairs();
    let patience = door.left(door.patience(query.timeout));
    let check = Check { attributes: &pairs, cost: query.cost, patience, ..Check::new(&query.domain) };
    let decided = door.check(&check).await;
    answer(&door, (&check, &query), decided)
}

fn answer<S: Store>(
    door: &Door<S>,
    (check, query): (&Check<'_>, &Query<'_>),
    decided: Result<Decision, Malformed>,
) -> Response {
    match decided {
        Ok(decision) if decision.allowed() => {
            let mut response = passes(&door.tell(check, &decision).headers, &decision);
            for warning in told::warnings(check, &decision) {
                response.headers_mut().extend(HeaderValue::try_from(&*warning).map(|value| (WARNING, value)));
            }
            response
        }
        decided => {
            let answer = Answer::to(door, check, &decided);
            answer.map_problem(|problem| denied(problem, query)).respond().into_response()
        }
    }
}

/// With what the client should know, and what whoever serves the request should.
fn passes(told: &HeaderLines, decision: &Decision) -> Response {
    let mut response = Response::default();
    told.put_into(response.headers_mut());
    for (name, value) in ratelimit::to_upstream(decision) {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// With the status that the proxy wants for refusals. That nobody could decide is none.
fn denied(problem: Problem, query: &Query<'_>) -> Problem {
    match query.deny_status {
        Some(status) if problem.status() != StatusCode::SERVICE_UNAVAILABLE => problem.with_status(status),
        _ => problem,
    }
}
