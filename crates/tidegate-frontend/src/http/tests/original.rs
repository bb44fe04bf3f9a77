//! Cases that envoyproxy/ratelimit (commit f2fb157) was asked over `/json`, with its answers. `ours` stands where we differ
//! on purpose; docs/guides/envoy.md has the reasons.

use super::*;
use crate::door::tests::{NOW_US, wait};
use crate::ratelimit::{EnvoyQuestion, answer};
use tidegate_wire::envoy::TimeUnit;
use tidegate_wire::envoy::json::{decode_request, encode_response};

const RULES: &str = include_str!("original.yaml");
const CASES: &str = include_str!("original.json");

/// The value of an entry that is too long to be written down.
fn write_out(request: &mut Value) {
    for descriptor in request["descriptors"].as_array_mut().unwrap() {
        for entry in descriptor["entries"].as_array_mut().unwrap() {
            if let Some(times) = entry["value"]["times"].as_u64() {
                let text = entry["value"]["repeat"].as_str().unwrap();
                entry["value"] = text.repeat(usize::try_from(times).unwrap()).into();
            }
        }
    }
}

/// Statuses with the time that was left of their unit.
fn with_resets(mut statuses: Value) -> Value {
    for status in statuses.as_array_mut().unwrap() {
        if status.get("durationUntilReset").is_some() {
            let unit = TimeUnit::from_name(status["currentLimit"]["unit"].as_str().unwrap());
            let seconds = unit.seconds().unwrap();
            let rest = seconds - (NOW_US / 1_000_000) % seconds;
            status["durationUntilReset"] = format!("{rest}s").into();
        }
    }
    statuses
}

fn check(door: &Door<Reference>, (name, asked): (&str, &Value)) {
    let (mut request, theirs) = (asked["request"].clone(), &asked["answer"]);
    write_out(&mut request);
    let sent = decode_request(request).unwrap();
    let question = EnvoyQuestion { request: sent.borrow(), ..EnvoyQuestion::default() };
    let answer = wait(answer(door, &question, |answer| encode_response(&answer)));
    let answer = answer.unwrap();
    let expected = asked.get("ours").unwrap_or(theirs)["statuses"].clone();
    assert_eq!(answer["overallCode"], theirs["overallCode"], "{name}");
    assert_eq!(answer["statuses"], with_resets(expected), "{name}");
    for (field, value) in theirs["dynamicMetadata"].as_object().into_iter().flatten() {
        assert_eq!(&answer["dynamicMetadata"][field], value, "{name}: {field}");
    }
}

#[test]
fn answers_as_the_original_does() {
    let settings = DoorSettings { metadata_descriptors: true, ..DoorSettings::default() };
    let (door, _) = door_to(Reference::new(), RULES, settings);
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    for case in &cases {
        for asked in case["asked"].as_array().unwrap() {
            check(&door, (case["name"].as_str().unwrap(), asked));
        }
    }
}

#[tokio::test]
async fn metadata_repeats_descriptors_only_when_set() {
    let (door, _) = door(RULES);
    let descriptors = json!([{ "entries": [{ "key": "user", "value": "s3cret" }] }]);
    let back = post(&door, "/json", json!({ "domain": "mesh", "descriptors": descriptors })).await;
    assert!(!back.body.to_string().contains("s3cret"));
}
