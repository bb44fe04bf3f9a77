//! Envoy's rate limit service apart from its encodings: what gRPC and JSON both carry, and how it is asked and answered.
//!
//! Descriptors that charge are one check, paid whole or not at all; those with an explicit cost are charged to descriptor
//! trees even if they are refused. Those with an explicit cost of 0 only ask: descriptor trees whether they are exceeded,
//! rules whether there is room for one more. If not, nothing is charged to the others either. Those that are negative
//! are refunded first, whatever becomes of the rest. All of them are always part of what is asked, at a cost of 0 where it is
//! not their turn, since rules may count by what stands in several descriptors.

mod question;
mod statuses;
mod metadata;
#[cfg(test)]
mod tests;

use http::StatusCode;
use tidegate_core::PlanError;
use tidegate_engine::{Decision, Malformed, Outcome};
use tidegate_store::Store;
use tidegate_wire::envoy::{HitsMode, RateLimitResponse, RequestDescriptor};
use tidegate_wire::headers::names::CONTENT_TYPE;
use tidegate_wire::problem;

pub(crate) use question::EnvoyQuestion;

use crate::door::{Door, Undecided, Viewed};
use statuses::Standing;

/// Tells the upstream to do less: the rule that asks for it.
pub(crate) const DEGRADE: &str = "x-tidegate-degrade";
/// Tells the upstream to hold the request back first: by so many milliseconds.
pub(crate) const DELAY: &str = "x-tidegate-delay-ms";

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It is no question.
    Malformed(String),
    /// It is none because of what the client sent: a value or a cost without end, or a claim that contradicts what is
    /// known.
    Sent(String),
    /// Nobody could decide, and the class of the rules refuses.
    Undecided,
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        let said = malformed.to_string();
        match malformed {
            Malformed::TooLong { .. }
            | Malformed::UnreadableCost { .. }
            | Malformed::Cost { .. }
            | Malformed::Contradiction { .. }
            | Malformed::Plan(PlanError::Key(_)) => Self::Sent(said),
            _ => Self::Malformed(said),
        }
    }
}

/// Asks, and says what Envoy is told, in whatever form.
pub(crate) async fn answer<S: Store, T>(
    door: &Door<S>,
    question: &EnvoyQuestion<'_>,
    tell: impl FnOnce(RateLimitResponse<'_>) -> T,
) -> Result<T, Failure> {
    question.validate().inspect_err(|_| door.note_malformed())?;
    let refunded = refund(door, question).await?;
    let decision = match &refunded {
        Some(decision) if question.request.all(HitsMode::Refund) => decision.clone(),
        _ => decide(door, question).await?,
    };
    if nobody_decided(&decision) && door.settings().undecided == Undecided::Unavailable {
        return Err(Failure::Undecided);
    }
    Ok(tell(response(door, question, &decision, refunded.as_ref())))
}

async fn refund<S: Store>(
    door: &Door<S>,
    question: &EnvoyQuestion<'_>,
) -> Result<Option<Decision>, Malformed> {
    if !question.request.any(HitsMode::Refund) {
        return Ok(None);
    }
    let descriptors = question.descriptors(|asked| match asked.hits_mode() {
        HitsMode::Refund => question.request.hits_of(asked),
        HitsMode::Peek | HitsMode::Charge => 0,
    });
    let check = question.check_within(&descriptors, door.left(question.patience));
    Box::pin(door.refund(&check, None)).await.map(Some)
}

/// First whether there is room where nothing is charged, then the charges.
async fn decide<S: Store>(door: &Door<S>, question: &EnvoyQuestion<'_>) -> Result<Decision, Malformed> {
    if question.request.any(HitsMode::Peek) {
        let descriptors = question.descriptors(|asked| u64::from(asked.hits_mode() == HitsMode::Peek));
        let check = question.check_within(&descriptors, door.left(question.patience));
        let peeked = Box::pin(door.peek(&check)).await?;
        if !peeked.allowed() {
            Box::pin(charge_late(door, question)).await?;
            return Ok(peeked);
        }
        if !question.request.any(HitsMode::Charge) {
            return Ok(peeked);
        }
    }
    let descriptors = question.descriptors(|asked| match asked.hits_mode() {
        HitsMode::Charge => question.request.hits_of(asked),
        HitsMode::Peek | HitsMode::Refund => 0,
    });
    door.check(&question.check_within(&descriptors, door.left(question.patience))).await
}

/// Charges the costs that count even if the request is refused: those that descriptors bring.
async fn charge_late<S: Store>(door: &Door<S>, question: &EnvoyQuestion<'_>) -> Result<(), Malformed> {
    if question.request.descriptors.iter().any(RequestDescriptor::is_late) {
        let cost =
            |asked: &RequestDescriptor<'_>| if asked.is_late() { question.request.hits_of(asked) } else { 0 };
        let descriptors = question.descriptors(cost);
        door.check(&question.check_within(&descriptors, door.left(question.patience))).await?;
    }
    Ok(())
}

/// Whether it was refused by no rule and no count at all.
fn nobody_decided(decision: &Decision) -> bool {
    !decision.allowed() && decision.is_undecided()
}

fn response<'d, S: Store>(
    door: &Door<S>,
    question: &'d EnvoyQuestion<'_>,
    decision: &'d Decision,
    refunded: Option<&'d Decision>,
) -> RateLimitResponse<'d> {
    let (descriptors, settings) = (question.descriptors(|_| 0), door.settings());
    let viewed = Viewed::of(decision);
    let told = door.tell_viewed(&question.check(&descriptors), &viewed);
    let tell_shadow = settings.tell_shadow;
    let standing = Standing { request: &question.request, decided: &viewed, refunded, tell_shadow };
    let statuses = statuses::statuses(&standing);
    let metadata = metadata::metadata(&question.request, decision, &statuses);
    let mut response = RateLimitResponse {
        allowed: decision.allowed(),
        status: status(decision),
        metadata: if settings.metadata_descriptors {
            metadata.repeating(&question.request)
        } else {
            metadata
        },
        statuses,
        to_client: told.headers,
        to_upstream: to_upstream(decision),
        body: Vec::new(),
    };
    if let Some(problem) = told.problem {
        response.body = problem.to_json();
        response.to_client.text(CONTENT_TYPE, problem::CONTENT_TYPE);
    }
    response
}

/// The status of the rule that refuses. All other refusals are 429, as Envoy answers them.
fn status(decision: &Decision) -> StatusCode {
    let by_rule = decision.deciding_rule().filter(|_| !decision.allowed()).map(|_| decision.status());
    by_rule.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::TOO_MANY_REQUESTS)
}

/// What the upstream should know.
pub(crate) fn to_upstream(decision: &Decision) -> Vec<(&'static str, String)> {
    let degrades = decision.outcome == Outcome::Degrade;
    let rule = if degrades { decision.deciding_rule() } else { None };
    let degrade = rule.map(|rule| (DEGRADE, rule.name.to_string()));
    let delay = (decision.delay_us > 0).then(|| (DELAY, decision.delay_us.div_ceil(1000).to_string()));
    degrade.into_iter().chain(delay).collect()
}
