//! The schemas of questions and their readers agree: what one takes the other takes, and what one refuses the other does.
//!
//! Texts are short or ASCII: schemas count characters, readers bytes.

mod schema;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use schemars::JsonSchema;

use super::*;
use crate::door::question::Question;
use crate::http::protojson::schema::RateLimitRequest;
use crate::http::question::schema::{Refund, Reservation};
use crate::http::settle;
use crate::http::settle::schema::{ById, Commit};
use crate::openapi::{Document, Token};
use crate::ratelimit::EnvoyQuestion;
use schema::is_valid;
use tidegate_wire::json::Fields;

fn described<T: JsonSchema>() -> (Value, Value) {
    let mut document = Document::new("", "", Token::Maybe);
    let schema = document.schema::<T>();
    (schema, document.finish())
}

fn fits<T: JsonSchema>(value: &Value) -> bool {
    let (schema, document) = described::<T>();
    is_valid(&schema, value, &document)
}

/// Of every kind, at and around bounds.
fn values() -> Vec<Value> {
    let texts = [0, 1, 2, 256, 257, 16_384, 16_385].map(|length| json!("x".repeat(length)));
    let whole =
        [0, 1, 86_400_000, 86_400_001, u64::from(u32::MAX), 1 << 32, 1_000_000_000_000, 1_000_000_000_001];
    let numbers = whole.map(|number: u64| json!(number)).into_iter();
    let others = [
        json!(-1),
        json!(1.0),
        json!(1.5),
        json!(1e300),
        json!(u64::MAX),
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!("keep"),
        json!("give_back"),
        json!("7"),
        json!("+7"),
        json!("MINUTE"),
        json!("FORTNIGHT"),
        json!("é"),
        json!("5f0c2b7e9d4a41868c3e0f6b7a1d2c3e"),
        json!("5F0C2B7E9D4A41868C3E0F6B7A1D2C3E"),
        json!("x".repeat(32)),
        json!([["a", "b"]]),
        json!([[["a", "b"]]]),
        json!([[["a", 1], [true, "b"]]]),
        json!([[["a", "b", "c"]]]),
        json!([[["a", null]]]),
        json!([[[]]]),
        json!({ "a": "b" }),
        json!({ "a": 1.5, "b": true }),
        json!({ "a": [] }),
        json!({ "a": null }),
    ];
    texts.into_iter().chain(numbers).chain(others).collect()
}

fn anything() -> impl Strategy<Value = Value> {
    select(values())
}

/// An object whose members are mostly the ones that are known.
fn members(known: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let names = select(known.iter().copied().chain(["unknown"]).collect::<Vec<_>>());
    let sound = option::weighted(0.8, select(vec![json!("api"), json!("5f0c2b7e9d4a41868c3e0f6b7a1d2c3e")]));
    (btree_map(names, anything(), 0..3), sound).prop_map(move |(members, sound)| {
        let mut object = json!(members);
        if let Some(sound) = sound {
            object[known[0]] = sound;
        }
        object
    })
}

fn reads(question: Result<Question, tidegate_wire::json::FieldError>) -> bool {
    let Ok(mut question) = question else { return false };
    if question.says_something() {
        question.domain.get_or_insert_with(|| "api".to_owned());
    }
    let pairs = question.pairs();
    let descriptors = pairs.descriptors();
    question.check(&pairs, &descriptors, None).validate().is_ok()
}

const CHECK: [&str; 5] = ["domain", "attributes", "descriptors", "cost", "idempotency_key"];
const RESERVE: [&str; 4] = ["domain", "hold_ms", "at_end", "cost"];

fn limit() -> impl Strategy<Value = Value> {
    members(&["unit", "requestsPerUnit"])
}

fn descriptor() -> impl Strategy<Value = Value> {
    let entries = vec(members(&["key", "value"]), 0..3).prop_map(Value::from);
    (entries, option::of(limit()), members(&["isNegativeHits", "hitsAddend"])).prop_map(
        |(entries, limit, mut more)| {
            more["entries"] = entries;
            if let Some(limit) = limit {
                more["limit"] = limit;
            }
            if more["isNegativeHits"].is_string() {
                more["isNegativeHits"] = json!(true);
            }
            more
        },
    )
}

/// A sound body with each value in each of these places.
fn each(sound: &Value, fields: &[&str]) -> Vec<Value> {
    let put = |field: &str, value: Value| {
        let mut body = sound.clone();
        body[field] = value;
        body
    };
    fields.iter().flat_map(|field| values().into_iter().map(|value| put(field, value))).collect()
}

#[test]
fn on_every_value_of_every_field() {
    let more = [CHECK.as_slice(), &["hold_ms", "at_end", "charged_at_ms", "checks"]].concat();
    for body in each(&json!({ "domain": "api" }), &more) {
        let held = Question::read_with_hold(body.clone()).map(|(question, _)| question);
        let charged = Question::read_with_charged_at(body.clone()).map(|(question, _)| question);
        assert_eq!(fits::<Question>(&body), reads(Question::read(body.clone())), "{body}");
        assert_eq!(fits::<Reservation>(&body), reads(held), "{body}");
        assert_eq!(fits::<Refund>(&body), reads(charged), "{body}");
    }
    let by_cost = json!({ "id": "5f0c2b7e9d4a41868c3e0f6b7a1d2c3e", "cost": 1 });
    let by_tokens = json!({ "id": "5f0c2b7e9d4a41868c3e0f6b7a1d2c3e", "attributes": { "tokens": 1 } });
    for body in [by_cost, by_tokens].iter().flat_map(|body| each(body, &["id", "cost", "attributes"])) {
        let read = settle::read_commit(Fields::of("the body", body.clone()).unwrap());
        assert_eq!(fits::<Commit>(&body), read.is_ok(), "{body}");
    }
    let fields = ["domain", "descriptors", "hitsAddend"];
    for body in each(&json!({ "domain": "api", "descriptors": [{}] }), &fields) {
        assert_eq!(fits::<RateLimitRequest>(&body), envoy_reads(&body), "{body}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn on_checks(value in members(&CHECK)) {
        prop_assert_eq!(fits::<Question>(&value), reads(Question::read(value.clone())), "{}", value);
    }

    #[test]
    fn on_many_facts(attributes in 126..131_usize, descriptors in 31..34_usize, entries in 31..34_usize) {
        let attributes: Vec<_> = (0..attributes).map(|number| (number.to_string(), json!(number))).collect();
        let attributes = Value::Object(attributes.into_iter().collect());
        let descriptors = json!(vec![vec![json!(["a", "b"]); entries]; descriptors]);
        let value = json!({ "domain": "api", "attributes": attributes, "descriptors": descriptors });
        prop_assert_eq!(fits::<Question>(&value), reads(Question::read(value.clone())));
    }

    #[test]
    fn on_reservations(value in members(&RESERVE)) {
        let read = Question::read_with_hold(value.clone()).map(|(question, _)| question);
        prop_assert_eq!(fits::<Reservation>(&value), reads(read), "{}", value);
    }

    #[test]
    fn on_refunds(value in members(&["domain", "charged_at_ms", "cost"])) {
        let read = Question::read_with_charged_at(value.clone()).map(|(question, _)| question);
        prop_assert_eq!(fits::<Refund>(&value), reads(read), "{}", value);
    }

    #[test]
    fn on_ids(value in members(&["id", "cost", "attributes"])) {
        let fields = || Fields::of("the body", value.clone()).unwrap();
        prop_assert_eq!(fits::<ById>(&value), settle::read_id(fields()).is_ok(), "{}", value);
        prop_assert_eq!(fits::<Commit>(&value), settle::read_commit(fields()).is_ok(), "{}", value);
    }

    #[test]
    fn on_what_envoy_asks(descriptors in vec(descriptor(), 0..3), mut value in members(&["domain", "hitsAddend"])) {
        value["descriptors"] = json!(descriptors);
        prop_assert_eq!(fits::<RateLimitRequest>(&value), envoy_reads(&value), "{}", value);
    }
}

fn envoy_reads(value: &Value) -> bool {
    let (door, _) = door(RULES);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let Ok(sent) = tidegate_wire::envoy::json::decode_request(value.clone()) else { return false };
    let question = EnvoyQuestion { request: sent.borrow(), ..EnvoyQuestion::default() };
    runtime.block_on(crate::ratelimit::answer(&door, &question, |_| ())).is_ok()
}
