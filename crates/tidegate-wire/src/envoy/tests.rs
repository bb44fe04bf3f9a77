//! The hand-written protobuf beside the generated code's.

use envoy_types::pb::envoy::config::core::v3::HeaderValue as Header;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::{
    Entry, RateLimitOverride,
};
use envoy_types::pb::envoy::service::ratelimit::v3 as generated;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response as generated_response;
use envoy_types::pb::google::protobuf::value::Kind;
use envoy_types::pb::google::protobuf::{Duration, ListValue, Struct, UInt64Value, Value};
use proptest::prelude::*;
use prost::Message as _;
use serde_json::{Map, Value as Json, json};

use super::protobuf::Writer;
use super::*;
use crate::decision_id::DecisionId;
use crate::headers::HeaderLines;

const MAX_DESCRIPTORS: usize = 64;
const MAX_ENTRIES: usize = 64;
const BOUNDS: MessageBounds = MessageBounds { descriptors: MAX_DESCRIPTORS, entries: MAX_ENTRIES };

fn texts() -> Texts {
    Texts::new(16_384)
}

fn any_request() -> impl Strategy<Value = generated::RateLimitRequest> {
    let descriptors = prop::collection::vec(any_descriptor(), 0..4);
    (".{0,9}", descriptors, any::<u32>()).prop_map(|(domain, descriptors, hits_addend)| {
        generated::RateLimitRequest { domain, descriptors, hits_addend }
    })
}

fn any_descriptor() -> impl Strategy<Value = RateLimitDescriptor> {
    let entry = (".{0,9}", ".{0,200}").prop_map(|(key, value)| Entry { key, value });
    let limit = (any::<u32>(), -2..9_i32)
        .prop_map(|(requests_per_unit, unit)| RateLimitOverride { requests_per_unit, unit });
    let hits = any::<u64>().prop_map(|value| UInt64Value { value });
    (prop::collection::vec(entry, 0..4), prop::option::of(limit), prop::option::of(hits), any::<bool>())
        .prop_map(|(entries, limit, hits_addend, is_negative_hits)| RateLimitDescriptor {
            entries,
            limit,
            hits_addend,
            is_negative_hits,
        })
}

/// Bytes of a request, with some of them changed, left out or put in.
fn nearly_a_request() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), 0..3_u8, any::<u8>());
    (any_request(), prop::collection::vec(change, 0..4)).prop_map(|(request, changes)| {
        let mut bytes = request.encode_to_vec();
        for (place, how, byte) in changes {
            let place = place.index(bytes.len() + 1);
            match how {
                0 if place < bytes.len() => bytes[place] = byte,
                1 if place < bytes.len() => drop(bytes.remove(place)),
                _ => bytes.insert(place, byte),
            }
        }
        bytes
    })
}

fn borrowed(message: &generated::RateLimitRequest) -> RateLimitRequest<'_> {
    let entry = |entry: &Entry| (entry.key.clone().leak() as &str, entry.value.clone().leak() as &str);
    let asked = |descriptor: &RateLimitDescriptor| RequestDescriptor {
        entries: descriptor.entries.iter().map(entry).collect(),
        limit: descriptor.limit.map(|limit| LimitOverride {
            amount: limit.requests_per_unit,
            unit: TimeUnit::from_number(limit.unit),
        }),
        hits: descriptor.hits_addend.map(|hits| hits.value),
        negative: descriptor.is_negative_hits,
    };
    RateLimitRequest {
        domain: &message.domain,
        descriptors: message.descriptors.iter().map(asked).collect(),
        hits: message.hits_addend.into(),
    }
}

fn read<'b>(bytes: &'b [u8], texts: &'b Texts) -> Result<RateLimitRequest<'b>, DecodeError> {
    let mut request = RateLimitRequest::default();
    decode_request(bytes, texts, BOUNDS, &mut request).map(|()| request)
}

fn has_too_many(message: &generated::RateLimitRequest) -> bool {
    message.descriptors.len() > MAX_DESCRIPTORS
        || message.descriptors.iter().any(|descriptor| descriptor.entries.len() > MAX_ENTRIES)
}

fn reads_as_the_generated_code_does(bytes: &[u8]) -> Result<(), TestCaseError> {
    let (theirs, texts) = (generated::RateLimitRequest::decode(bytes), texts());
    match (&theirs, read(bytes, &texts)) {
        (Ok(theirs), Ok(ours)) => prop_assert_eq!(borrowed(theirs), ours),
        (Err(_), Err(_)) => {}
        (Err(error), Ok(_)) => {
            prop_assert!(error.to_string().contains("UTF-8"), "{}", error);
        }
        (Ok(theirs), Err(DecodeError::TooMany { .. })) => prop_assert!(has_too_many(theirs)),
        (theirs, ours) => prop_assert!(false, "{theirs:?} beside {ours:?}"),
    }
    Ok(())
}

proptest! {
    #[test]
    fn reads_requests_like_the_generated_code(bytes in nearly_a_request()) {
        reads_as_the_generated_code_does(&bytes)?;
    }

    #[test]
    fn reads_rubbish_like_the_generated_code(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        reads_as_the_generated_code_does(&bytes)?;
    }
}

#[test]
fn decoding_stops_at_the_bounds() {
    let (descriptor, entry) = ([0x12, 0x00], [0x0A, 0x00]);
    for (bytes, says) in [
        (descriptor.repeat(500_000), "the check has 65 descriptors and the most is 64"),
        (
            [&[0x12, 0xC0, 0xA9, 0x07][..], &entry.repeat(60_000)].concat(),
            "the check has 65 entries and the most is 64",
        ),
    ] {
        let (texts, mut request) = (texts(), RateLimitRequest::default());
        let wrong = decode_request(&bytes, &texts, BOUNDS, &mut request).unwrap_err();
        assert_eq!(wrong.to_string(), says);
        assert!(request.descriptors.len() <= MAX_DESCRIPTORS);
    }
    assert!(read(&descriptor.repeat(MAX_DESCRIPTORS), &texts()).is_ok());
}

#[test]
fn skips_groups_up_to_a_depth() {
    let nested = |depth: usize| [vec![0x7B; depth], vec![0x7C; depth]].concat();
    let texts = texts();
    assert!(read(&nested(100), &texts).is_ok());
    assert!(read(&nested(101), &texts).is_err());
    assert!(read(&vec![0x7B; 100_000], &texts).is_err());
}

#[test]
fn nested_messages_have_their_length_first() {
    for length in [0, 1, 126, 127, 128, 129, 16_383, 16_384, 2_097_151, 2_097_152] {
        let (text, mut out) = (vec![b'x'; length], Writer::default());
        out.message(2, |out| out.0.extend_from_slice(&text));
        let mut expected = vec![2 << 3 | 2];
        prost::encoding::encode_varint(length as u64, &mut expected);
        assert_eq!(out.0, [expected, text].concat());
    }
}

#[test]
fn generated_code_reads_our_responses() {
    for (statuses, length) in
        [(0, 0), (1, 10), (3, 115), (4, 116), (6, 117), (3, 127), (4, 128), (5, 200), (2, 20_000)]
    {
        let text = "x".repeat(length);
        let response = response(statuses, &text);
        let bytes = encode_response(&response);
        assert_eq!(
            (bytes[0], u32::from_be_bytes(bytes[1..5].try_into().unwrap()) as usize),
            (0, bytes.len() - 5)
        );
        let read = generated::RateLimitResponse::decode(&bytes[5..]).unwrap();
        assert_eq!(read, expected(&response));
    }
}

fn response(statuses: usize, text: &str) -> RateLimitResponse<'_> {
    let passed = json!({ "none": null, "yes": true, "no": false, "n": -1.5, "text": text, "list": [1, [], {}], "deep": { "": {} } });
    let Json::Object(passed) = passed else { panic!("it is an object") };
    let mut to_client = HeaderLines::default();
    to_client.text("ratelimit", text);
    let status = |number: usize| DescriptorStatus {
        over: number % 2 == 1,
        current: (number > 0).then_some(CurrentLimit {
            name: text.into(),
            amount: 126 + u32::try_from(number).unwrap(),
            unit: TimeUnit::Week,
        }),
        remaining: u32::MAX,
        reset_s: (number > 1).then_some(u64::MAX),
    };
    let decided =
        MetadataDecision { outcome: "", id: DecisionId::new(7), state: "", rule: Some(text), snapshot: 0 };
    RateLimitResponse {
        allowed: statuses % 2 == 1,
        status: http::StatusCode::TOO_MANY_REQUESTS,
        statuses: (0..statuses).map(status).collect(),
        to_client,
        to_upstream: vec![("x-delay-ms", text.to_owned())],
        body: text.into(),
        metadata: ResponseMetadata {
            decided: (statuses != 1).then_some(decided),
            domain: "",
            reason: text.to_owned().into(),
            request: Map::from_iter([("descriptors".to_owned(), json!([{ "entries": [text] }]))]),
            passed,
        },
    }
}

fn expected(response: &RateLimitResponse<'_>) -> generated::RateLimitResponse {
    let code = |over: bool| if over { 2 } else { 1 };
    let header = |key: &str, value: &str| Header { key: key.into(), value: value.into(), raw_value: vec![] };
    let status = |status: &DescriptorStatus<'_>| generated_response::DescriptorStatus {
        code: code(status.over),
        current_limit: status.current.as_ref().map(|current| generated_response::RateLimit {
            name: current.name.to_string(),
            requests_per_unit: current.amount,
            unit: current.unit as i32,
        }),
        limit_remaining: status.remaining,
        duration_until_reset: status.reset_s.map(|_| Duration { seconds: i64::MAX, nanos: 0 }),
        quota: None,
    };
    let mut fields: Map<String, Json> =
        response.metadata.words().map(|(name, word)| (name.to_owned(), json!(word))).collect();
    let snapshot = response.metadata.snapshot();
    fields.extend(snapshot.map(|snapshot| ("snapshot".to_owned(), json!(snapshot))));
    fields.extend(response.metadata.request.clone());
    fields.insert("metadata".to_owned(), Json::Object(response.metadata.passed.clone()));
    generated::RateLimitResponse {
        overall_code: code(!response.allowed),
        statuses: response.statuses.iter().map(status).collect(),
        response_headers_to_add: response.to_client.iter().map(|(name, value)| header(name, value)).collect(),
        request_headers_to_add: response
            .to_upstream
            .iter()
            .map(|(name, value)| header(name, value))
            .collect(),
        raw_body: response.body.clone(),
        dynamic_metadata: Some(object(fields)),
        quota: None,
    }
}

fn object(fields: Map<String, Json>) -> Struct {
    Struct { fields: fields.into_iter().map(|(name, json)| (name, value(json))).collect() }
}

fn value(json: Json) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(truth) => Kind::BoolValue(truth),
        Json::Number(number) => Kind::NumberValue(number.as_f64().unwrap()),
        Json::String(text) => Kind::StringValue(text),
        Json::Array(list) => Kind::ListValue(ListValue { values: list.into_iter().map(value).collect() }),
        Json::Object(fields) => Kind::StructValue(object(fields)),
    };
    Value { kind: Some(kind) }
}
