//! A decision as it goes out in JSON: with 200 if the request may pass, as a problem if it may not.

use std::borrow::Cow;

use http::StatusCode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, json as value};
use tidegate_engine::{Check, Decision, LimitView, Malformed};
use tidegate_rules::diagnostic::nearest;
use tidegate_store::Store;

use super::reply::Reply;
use crate::door::{Door, DoorSettings, milliseconds, told};
use crate::openapi::ProblemSchema;
use tidegate_wire::decision_id::DecisionId;
use tidegate_wire::headers::HeaderLines;
use tidegate_wire::json::write as json;
use tidegate_wire::problem::{CONTENT_TYPE, Problem};

const JSON: &str = "application/json";

/// Room for what most decisions say, and for a limit.
const ROOM: usize = 224;
const ROOM_PER_LIMIT: usize = 208;

/// What a check is answered: by itself, or as one of a batch.
pub(super) struct Answer {
    headers: HeaderLines,
    said: Said,
}

/// The body.
#[derive(Serialize)]
#[serde(untagged)]
enum Said {
    Decision(Told),
    Problem(Problem),
}

/// One of a batch says its status, which by itself it would have had as an answer.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(super) enum Result {
    /// It was decided, and may pass.
    Decision {
        /// 200.
        status: u16,
        #[serde(flatten)]
        told: Told,
    },
    /// It was refused, or is no check.
    Problem(#[schemars(with = "ProblemSchema")] Problem),
}

/// What was decided, and why.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Decision")]
pub(super) struct Told {
    /// `delay`: go on after `delay_ms`. `degrade`: go on, do less. `shed`: there is too much at once.
    #[schemars(schema_with = "decisions")]
    decision: &'static str,
    /// The decision's name, for logs and to give back what it holds.
    #[schemars(with = "String", regex(pattern = "^[0-9a-f]{32}$"))]
    id: DecisionId,
    /// The rules that refused.
    denied_by: Vec<String>,
    /// In one word, such as `ok`, `api_key-rate`, `tenant-quota`, `blocked`, `undecided` or `no-such-domain`.
    reason: Cow<'static, str>,
    /// How far it was counted: `open` if nobody could count and the class of the rules decided.
    #[schemars(schema_with = "states")]
    state: &'static str,
    /// The version of the rules.
    snapshot: u64,
    /// How long to wait before going on.
    delay_ms: Option<u64>,
    /// The rules over their limit that let the request pass: those with the action `degrade` or `log`.
    exceeded: Vec<String>,
    /// Why the answer may not be what the caller wanted, such as a check that no rule can match.
    warnings: Vec<Cow<'static, str>>,
    /// Every limit that had a word in it. Limits in shadow mode are left out, unless the setting
    /// `answers.shadow` is on.
    limits: Vec<Line>,
    /// The domain with the nearest name, if the rules do not have the one that was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest_domain: Option<String>,
}

/// A limit and what it said.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Limit")]
struct Line {
    /// Its rule.
    rule: String,
    /// Its own name, as in the RateLimit headers.
    name: String,
    /// How much there is in all.
    limit: u64,
    /// The time that it is for, in seconds, rounded up; null for concurrency.
    window: Option<u64>,
    /// How much of it is left.
    remaining: u64,
    /// When all of it is there again.
    reset_after_ms: u64,
    /// When the same check passes it; null if it did, or never can.
    retry_after_ms: Option<u64>,
    /// What is in the shadow is counted and refuses nobody.
    #[schemars(schema_with = "modes")]
    mode: &'static str,
    /// Whether it let the check pass.
    allowed: bool,
}

fn decisions(_: &mut SchemaGenerator) -> Schema {
    use tidegate_engine::Outcome::{Allow, Challenge, Degrade, Delay, Deny, Shed};
    let words = [Allow, Deny, Delay, Degrade, Challenge, Shed].map(tidegate_engine::Outcome::word);
    json_schema!({ "enum": words })
}

fn states(_: &mut SchemaGenerator) -> Schema {
    use tidegate_engine::Consistency::{Exact, Local, Open, Regional};
    let words = [Exact, Regional, Local, Open].map(tidegate_engine::Consistency::word);
    json_schema!({ "enum": words })
}

fn modes(_: &mut SchemaGenerator) -> Schema {
    use tidegate_rules::rule::Mode::{Enforce, Off, Shadow};
    let words = [Enforce, Shadow, Off].map(tidegate_rules::rule::Mode::word);
    json_schema!({ "enum": words })
}

impl Answer {
    /// The answer to a check that was decided, or could not be asked.
    pub(super) fn to<S: Store>(
        door: &Door<S>,
        check: &Check<'_>,
        decided: &std::result::Result<Decision, Malformed>,
    ) -> Self {
        match decided {
            Ok(decision) => Self::of(door, check, decision),
            Err(malformed) => Self::problem(misunderstood(malformed)),
        }
    }

    fn of<S: Store>(door: &Door<S>, check: &Check<'_>, decision: &Decision) -> Self {
        let outside = door.tell(check, decision);
        let mut told = Told::of(door.settings(), check, decision);
        if decision.domain().is_none() {
            told.nearest_domain = nearest_domain(door, check.domain);
        }
        let said = match outside.problem {
            None => Said::Decision(told),
            Some(problem) => Said::Problem(told.into_members_of(problem)),
        };
        Self { headers: outside.headers, said }
    }

    pub(super) fn problem(problem: Problem) -> Self {
        Self { headers: HeaderLines::default(), said: Said::Problem(problem) }
    }

    /// The same with another problem in place of the one that it tells, if it does.
    pub(super) fn map_problem(self, change: impl FnOnce(Problem) -> Problem) -> Self {
        match self.said {
            Said::Problem(problem) => Self { said: Said::Problem(change(problem)), ..self },
            Said::Decision(_) => self,
        }
    }

    pub(super) fn respond(self) -> Reply {
        let (status, content_type, body) = match &self.said {
            Said::Decision(told) => (StatusCode::OK, JSON, told.to_json()),
            // When to come back is among the headers.
            Said::Problem(problem) => (problem.status(), CONTENT_TYPE, problem.to_json()),
        };
        Reply { status, headers: self.headers, content_type, body }
    }

    pub(super) fn into_result(self) -> Result {
        match self.said {
            Said::Decision(told) => Result::Decision { status: StatusCode::OK.as_u16(), told },
            Said::Problem(problem) => Result::Problem(problem),
        }
    }
}

/// A body of JSON.
pub(super) fn json_reply(status: StatusCode, body: &impl Serialize) -> Reply {
    let json = serde_json::to_vec(body).expect("texts and numbers under text names are always JSON");
    Reply::new(status, JSON, json)
}

impl Told {
    fn of(settings: &DoorSettings, check: &Check<'_>, decision: &Decision) -> Self {
        let limits = told::limits(settings, decision);
        Self {
            decision: decision.outcome.word(),
            id: DecisionId::new(decision.id.0),
            denied_by: decision.denied_by().map(|rule| rule.name.to_owned()).collect(),
            reason: decision.reason(),
            state: decision.state.word(),
            snapshot: decision.version,
            delay_ms: (decision.delay_us > 0).then(|| milliseconds(decision.delay_us)),
            exceeded: told::exceeded(settings, decision),
            warnings: told::warnings(check, decision),
            limits: limits.map(|view| Line::of(&view)).collect(),
            nearest_domain: None,
        }
    }

    /// The same as its serializer writes it, by a shorter way: most answers are this.
    fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(ROOM + self.limits.len() * ROOM_PER_LIMIT);
        out.extend_from_slice(br#"{"decision":"#);
        json::word(&mut out, self.decision.as_bytes());
        out.extend_from_slice(br#","id":"#);
        json::word(&mut out, self.id.digits());
        out.extend_from_slice(br#","denied_by":"#);
        json::list(&mut out, &self.denied_by, |out, rule| json::text(out, rule));
        out.extend_from_slice(br#","reason":"#);
        json::text(&mut out, &self.reason);
        out.extend_from_slice(br#","state":"#);
        json::word(&mut out, self.state.as_bytes());
        out.extend_from_slice(br#","snapshot":"#);
        json::number(&mut out, self.snapshot);
        out.extend_from_slice(br#","delay_ms":"#);
        json::number_or_null(&mut out, self.delay_ms);
        out.extend_from_slice(br#","exceeded":"#);
        json::list(&mut out, &self.exceeded, |out, rule| json::text(out, rule));
        out.extend_from_slice(br#","warnings":"#);
        json::list(&mut out, &self.warnings, |out, warning| json::text(out, warning));
        out.extend_from_slice(br#","limits":"#);
        json::list(&mut out, &self.limits, |out, line| line.write(out));
        if let Some(domain) = &self.nearest_domain {
            out.extend_from_slice(br#","nearest_domain":"#);
            json::text(&mut out, domain);
        }
        out.push(b'}');
        out
    }

    fn into_members_of(self, problem: Problem) -> Problem {
        problem
            .with_member("decision", self.decision)
            .with_member("denied_by", self.denied_by)
            .with_member("reason", self.reason)
            .with_member("state", self.state)
            .with_member("snapshot", self.snapshot)
            .with_member("delay_ms", self.delay_ms)
            .with_member("exceeded", self.exceeded)
            .with_member(
                "warnings",
                self.warnings.iter().map(|warning| value!(warning)).collect::<Vec<Value>>(),
            )
            .with_member("limits", self.limits.iter().map(|limit| value!(limit)).collect::<Vec<Value>>())
    }
}

impl Line {
    fn of(view: &LimitView<'_>) -> Self {
        Self {
            rule: view.rule_name().to_owned(),
            name: view.policy().to_owned(),
            limit: view.verdict.limit,
            window: told::window_s(view),
            remaining: view.verdict.remaining,
            reset_after_ms: milliseconds(view.verdict.reset_after_us),
            retry_after_ms: view.retry_after_us().map(milliseconds),
            mode: view.mode().word(),
            allowed: view.allows(),
        }
    }
}

impl Line {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"rule":"#);
        json::text(out, &self.rule);
        out.extend_from_slice(br#","name":"#);
        json::text(out, &self.name);
        out.extend_from_slice(br#","limit":"#);
        json::number(out, self.limit);
        out.extend_from_slice(br#","window":"#);
        json::number_or_null(out, self.window);
        out.extend_from_slice(br#","remaining":"#);
        json::number(out, self.remaining);
        out.extend_from_slice(br#","reset_after_ms":"#);
        json::number(out, self.reset_after_ms);
        out.extend_from_slice(br#","retry_after_ms":"#);
        json::number_or_null(out, self.retry_after_ms);
        out.extend_from_slice(br#","mode":"#);
        json::word(out, self.mode.as_bytes());
        out.extend_from_slice(br#","allowed":"#);
        json::truth(out, self.allowed);
        out.push(b'}');
    }
}

/// Beyond these bounds no nearest domain is looked for: the search is quadratic in the length of names.
const MAX_NEAREST_BYTES: usize = 64;
const MAX_NEAREST_DOMAINS: usize = 64;

#[cold]
fn nearest_domain<S: Store>(door: &Door<S>, asked: &str) -> Option<String> {
    let snapshot = door.engine().snapshot();
    if asked.len() > MAX_NEAREST_BYTES || snapshot.domains().count() > MAX_NEAREST_DOMAINS {
        return None;
    }
    nearest(asked, snapshot.domains().map(|domain| &*domain.name)).map(str::to_owned)
}

pub(super) fn misunderstood(malformed: &Malformed) -> Problem {
    let status = match malformed {
        Malformed::IdempotencyConflict => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::BAD_REQUEST,
    };
    Problem::of_request(status, malformed.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line() -> impl Strategy<Value = Line> {
        let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<Option<u64>>(), any::<Option<u64>>());
        (".{0,9}", ".{0,9}", numbers, any::<bool>()).prop_map(|(rule, name, numbers, allowed)| {
            let (limit, remaining, reset_after_ms, retry_after_ms, window) = numbers;
            let mode = "enforce";
            Line { rule, name, limit, window, remaining, reset_after_ms, retry_after_ms, mode, allowed }
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_the_serializer_writes(
            id in any::<u128>(),
            denied_by in prop::collection::vec(".{0,9}", 0..3),
            reason in ".{0,9}",
            snapshot in any::<u64>(),
            delay_ms in any::<Option<u64>>(),
            exceeded in prop::collection::vec(".{0,9}", 0..3),
            warnings in prop::collection::vec(".{0,9}".prop_map(Cow::Owned), 0..3),
            limits in prop::collection::vec(line(), 0..4),
            nearest_domain in any::<Option<String>>(),
        ) {
            let (id, reason) = (DecisionId::new(id), reason.into());
            let (decision, state) = ("allow", "exact");
            let told =
                Told { decision, id, denied_by, reason, state, snapshot, delay_ms, exceeded, warnings, limits, nearest_domain };
            let (written, serialized) = (told.to_json(), serde_json::to_vec(&told).unwrap());
            prop_assert_eq!(String::from_utf8(written).unwrap(), String::from_utf8(serialized).unwrap());
        }
    }
}
