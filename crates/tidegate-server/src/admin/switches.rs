//! `/admin/v1/switches`: modes that are set over what the files say. `GET` lists them, `PUT` sets one, `DELETE` takes it back
//! with all that are on parts of it: on everything, on `/{domain}`, or on `/{domain}/{rule}`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value};
use tidegate_control::switches::{Switch, SwitchChange, SwitchError, SwitchTarget};
use tidegate_core::Timestamp;
use tidegate_rules::rule::Mode;
use tidegate_rules::{Snapshot, Span, notation};
use tidegate_wire::trust::Peer;

use super::Admin;
use crate::http::{json_body, problem};

const SHAPE: &str = r#"write {"mode": "off" | "shadow" | "enforce", "for": "10m", "reason": "why"}; for and reason may be left out"#;

/// How long a switch may last that ends by itself.
const DURATIONS: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(30 * 24 * 60 * 60);

/// The longest reason, in characters.
const MOST_REASON: usize = 200;

/// The body that sets a mode.
pub(crate) struct Set;

impl JsonSchema for Set {
    fn schema_name() -> Cow<'static, str> {
        "SwitchTo".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "required": ["mode"],
            "additionalProperties": false,
            "properties": {
                "mode": { "enum": ["off", "shadow", "enforce"] },
                "for": {
                    "description": "How long, from 1s to 30d; without it, until it is taken back.",
                    "type": ["string", "null"],
                    "pattern": "^([1-9][0-9]{0,3}s|[1-9][0-9]{0,3}m|[1-9][0-9]?h|[12]?[1-9]d|[123]0d)$",
                    "examples": ["10m", "1h", "30d"],
                },
                "reason": {
                    "description": "One line.",
                    "type": ["string", "null"],
                    "maxLength": MOST_REASON,
                    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
                },
            },
        })
    }
}

/// What is set over what the files say.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Switches")]
pub(crate) struct Listed {
    /// The version of the rules that they are in force with.
    version: u64,
    switches: Vec<Line>,
}

/// A mode that is set.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Switch")]
struct Line {
    /// Null if it is on everything.
    domain: Option<String>,
    /// Null if it is on all rules of the domain.
    rule: Option<String>,
    mode: &'static str,
    since_ms: u64,
    /// Null if it does not end by itself.
    until_ms: Option<u64>,
    ends_after_ms: Option<u64>,
    reason: Option<String>,
    /// Who set it: the address that asked.
    by: String,
    /// How many rules it is on at present.
    rules: usize,
}

pub(super) async fn list(State(admin): State<Arc<Admin>>) -> Response {
    json_body(StatusCode::OK, &listed(&admin))
}

pub(super) async fn set_all(
    state: State<Arc<Admin>>,
    peer: Option<Extension<Peer>>,
    body: Bytes,
) -> Response {
    set(&state, SwitchTarget::Everything, peer, &body).await
}

pub(super) async fn set_domain(
    state: State<Arc<Admin>>,
    Path(domain): Path<String>,
    peer: Option<Extension<Peer>>,
    body: Bytes,
) -> Response {
    set(&state, SwitchTarget::Domain(domain.into()), peer, &body).await
}

pub(super) async fn set_rule(
    state: State<Arc<Admin>>,
    Path((domain, rule)): Path<(String, String)>,
    peer: Option<Extension<Peer>>,
    body: Bytes,
) -> Response {
    set(&state, SwitchTarget::Rule(domain.into(), rule.into()), peer, &body).await
}

pub(super) async fn take_back_all(state: State<Arc<Admin>>, peer: Option<Extension<Peer>>) -> Response {
    ask(&state, SwitchChange::Clear(SwitchTarget::Everything), peer).await
}

pub(super) async fn take_back_domain(
    state: State<Arc<Admin>>,
    Path(domain): Path<String>,
    peer: Option<Extension<Peer>>,
) -> Response {
    ask(&state, SwitchChange::Clear(SwitchTarget::Domain(domain.into())), peer).await
}

pub(super) async fn take_back_rule(
    state: State<Arc<Admin>>,
    Path((domain, rule)): Path<(String, String)>,
    peer: Option<Extension<Peer>>,
) -> Response {
    ask(&state, SwitchChange::Clear(SwitchTarget::Rule(domain.into(), rule.into())), peer).await
}

async fn set(admin: &Admin, target: SwitchTarget, peer: Option<Extension<Peer>>, body: &[u8]) -> Response {
    match read(target, body) {
        Ok(change) => ask(admin, change, peer).await,
        Err(wrong) => problem(StatusCode::BAD_REQUEST, &wrong),
    }
}

/// Changes a switch and answers with all that are set then.
async fn ask(admin: &Admin, change: SwitchChange, peer: Option<Extension<Peer>>) -> Response {
    let by = peer.map_or_else(|| "unknown".to_owned(), |Extension(peer)| peer.address().to_string());
    match admin.control.switch(change, by).await {
        Ok(()) => json_body(StatusCode::OK, &listed(admin)),
        Err(error) => problem(status(&error), &error.to_string()),
    }
}

const fn status(error: &SwitchError) -> StatusCode {
    match error {
        SwitchError::UnknownTarget { .. } | SwitchError::NoSwitch(_) => StatusCode::NOT_FOUND,
        SwitchError::TooMany => StatusCode::CONFLICT,
        SwitchError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn read(target: SwitchTarget, body: &[u8]) -> Result<SwitchChange, String> {
    let Ok(Value::Object(body)) = serde_json::from_slice(body) else { return Err(SHAPE.to_owned()) };
    if let Some(unknown) = body.keys().find(|key| !["mode", "for", "reason"].contains(&key.as_str())) {
        let unknown: String = unknown.chars().take(40).collect();
        return Err(format!("there is no key `{unknown}`; {SHAPE}"));
    }
    let mode = text(&body, "mode")?.and_then(Mode::from_word).ok_or(SHAPE)?;
    let duration = text(&body, "for")?.map(duration).transpose()?;
    let reason = text(&body, "reason")?.map(reason).transpose()?;
    Ok(SwitchChange::Set { target, mode, duration, reason })
}

fn text<'b>(body: &'b Map<String, Value>, key: &str) -> Result<Option<&'b str>, String> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` should be a text; {SHAPE}")),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = notation::duration(text, Span::new(0, text.len())).ok();
    let wrong = || "`for` should be from 1s to 30d, such as 10m; leave it out for no end".to_owned();
    duration.filter(|duration| DURATIONS.contains(duration)).ok_or_else(wrong)
}

fn reason(text: &str) -> Result<Box<str>, String> {
    if text.chars().count() > MOST_REASON || text.chars().any(char::is_control) {
        return Err(format!("`reason` should be one line of {MOST_REASON} characters at most"));
    }
    Ok(text.into())
}

/// All switches and the version that they are in force with.
fn listed(admin: &Admin) -> Listed {
    let (snapshot, now) = (admin.metrics.engine.snapshot(), admin.metrics.clock.now());
    let switches = admin.metrics.status.switches();
    let one = |(target, switch): (&SwitchTarget, &Switch)| Line::of((target, switch), &snapshot, now);
    Listed { version: snapshot.version(), switches: switches.iter().map(one).collect() }
}

impl Line {
    fn of((target, switch): (&SwitchTarget, &Switch), snapshot: &Snapshot, now: Timestamp) -> Self {
        Self {
            domain: target.domain().map(str::to_owned),
            rule: target.rule().map(str::to_owned),
            mode: switch.mode.word(),
            since_ms: switch.since.as_micros() / 1000,
            until_ms: switch.until.map(|until| until.as_micros() / 1000),
            ends_after_ms: switch.until.map(|until| until.since(now).div_ceil(1000)),
            reason: switch.reason.as_deref().map(str::to_owned),
            by: switch.by.to_string(),
            rules: target.rules(snapshot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_read_strictly() {
        let read = |body: &str| read(SwitchTarget::Everything, body.as_bytes());
        let change = read(r#"{"mode": "off", "for": "10m", "reason": "it hurts"}"#).unwrap();
        let expected = SwitchChange::Set {
            target: SwitchTarget::Everything,
            mode: Mode::Off,
            duration: Some(Duration::from_secs(600)),
            reason: Some("it hurts".into()),
        };
        assert_eq!(change, expected);
        assert!(read(r#"{"mode": "shadow", "for": null}"#).is_ok());
        let long = format!(r#"{{"mode": "off", "reason": "{}"}}"#, "x".repeat(201));
        for (body, says) in [
            ("", SHAPE),
            ("[]", SHAPE),
            ("{}", SHAPE),
            (r#"{"mode": "of"}"#, SHAPE),
            (r#"{"mode": 1}"#, "`mode` should be a text"),
            (r#"{"mode": "off", "fro": "1m"}"#, "there is no key `fro`"),
            (r#"{"mode": "off", "for": "0s"}"#, "`for` should be from 1s to 30d"),
            (r#"{"mode": "off", "for": "31d"}"#, "`for` should be from 1s to 30d"),
            (r#"{"mode": "off", "for": "soon"}"#, "`for` should be from 1s to 30d"),
            (r#"{"mode": "off", "reason": "two\nlines"}"#, "`reason` should be one line"),
            (&long, "`reason` should be one line"),
        ] {
            let wrong = read(body).unwrap_err();
            assert!(wrong.contains(says), "{body}: {wrong}");
        }
    }
}
