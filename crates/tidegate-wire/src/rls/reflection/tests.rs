//! The table held against the messages that are really sent.

use std::collections::BTreeMap;

use envoy_types::pb::envoy::config::core::v3::HeaderValue;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::{
    Entry, RateLimitOverride,
};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::{DescriptorStatus, RateLimit};
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use envoy_types::pb::google::protobuf::{Duration, ListValue, Struct, UInt64Value, Value, value};
use prost::Message;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use super::*;

/// All messages by their full names.
fn messages() -> BTreeMap<String, DescriptorProto> {
    fn add(prefix: &str, message: DescriptorProto, into: &mut BTreeMap<String, DescriptorProto>) {
        let name = format!("{prefix}.{}", message.name());
        for nested in message.nested_type.clone() {
            add(&name, nested, into);
        }
        into.insert(name, message);
    }
    let mut all = BTreeMap::new();
    for file in set().file {
        for message in file.message_type.clone() {
            add(&format!(".{}", file.package()), message, &mut all);
        }
    }
    all
}

fn wire_type(kind: Type) -> WireType {
    match kind {
        Type::Double => WireType::SixtyFourBit,
        Type::String | Type::Bytes | Type::Message => WireType::LengthDelimited,
        _ => WireType::Varint,
    }
}

/// Every field of the bytes is in the table under its number with its wire type, and so on inside; how many there were.
fn follow(mut bytes: &[u8], name: &str, messages: &BTreeMap<String, DescriptorProto>) -> usize {
    let mut count = 0;
    while !bytes.is_empty() {
        let (number, wire) = decode_key(&mut bytes).unwrap();
        let known =
            messages[name].field.iter().find(|field| field.number() == i32::try_from(number).unwrap());
        let field = known.unwrap_or_else(|| panic!("{name} has no field {number}"));
        assert_eq!(wire, wire_type(field.r#type()), "{name}.{}", field.name());
        if field.r#type() == Type::Message {
            let length = usize::try_from(decode_varint(&mut bytes).unwrap()).unwrap();
            let (inner, rest) = bytes.split_at(length);
            count += follow(inner, field.type_name(), messages);
            bytes = rest;
        } else {
            skip_field(wire, number, &mut bytes, DecodeContext::default()).unwrap();
        }
        count += 1;
    }
    count
}

fn text(text: &str) -> Value {
    Value { kind: Some(value::Kind::StringValue(text.to_owned())) }
}

#[test]
fn a_request_is_what_the_table_says() {
    let limit = Some(RateLimitOverride { requests_per_unit: 5, unit: 6 });
    let entries = vec![Entry { key: "user".to_owned(), value: "a".to_owned() }];
    let hits_addend = Some(UInt64Value { value: 3 });
    let descriptor = RateLimitDescriptor { entries, limit, hits_addend, is_negative_hits: true };
    let request =
        RateLimitRequest { domain: "mesh".to_owned(), descriptors: vec![descriptor], hits_addend: 1 };
    let name = ".envoy.service.ratelimit.v3.RateLimitRequest";
    assert_eq!(follow(&request.encode_to_vec(), name, &messages()), 12);
}

#[test]
fn a_response_is_what_the_table_says() {
    let kinds = [
        value::Kind::NullValue(0),
        value::Kind::NumberValue(1.5),
        value::Kind::BoolValue(true),
        value::Kind::StructValue(Struct { fields: [("deep".to_owned(), text("x"))].into() }),
    ];
    let list = ListValue { values: kinds.into_iter().map(|kind| Value { kind: Some(kind) }).collect() };
    let list = Value { kind: Some(value::Kind::ListValue(list)) };
    let header = HeaderValue { key: "a".to_owned(), value: "b".to_owned(), raw_value: vec![1] };
    let limit = RateLimit { name: "daily".to_owned(), requests_per_unit: 5, unit: 7 };
    let status = DescriptorStatus {
        code: 1,
        current_limit: Some(limit),
        limit_remaining: 4,
        duration_until_reset: Some(Duration { seconds: 1, nanos: 1 }),
        quota: None,
    };
    let response = RateLimitResponse {
        overall_code: 1,
        statuses: vec![status],
        response_headers_to_add: vec![header.clone()],
        request_headers_to_add: vec![header],
        raw_body: vec![1],
        dynamic_metadata: Some(Struct { fields: [("list".to_owned(), list)].into() }),
        quota: None,
    };
    let name = ".envoy.service.ratelimit.v3.RateLimitResponse";
    assert_eq!(follow(&response.encode_to_vec(), name, &messages()), 37);
}

#[test]
fn the_service_and_whatever_its_messages_speak_of_are_described() {
    let decoded = FileDescriptorSet::decode(file_descriptor_set()).unwrap();
    let services = decoded.file.iter().flat_map(|file| {
        file.service.iter().map(move |service| format!("{}.{}", file.package(), service.name()))
    });
    assert_eq!(services.collect::<Vec<_>>(), [crate::rls::SERVICE_NAME]);
    let messages = messages();
    let spoken_of = messages.values().flat_map(|message| &message.field);
    for field in spoken_of.filter(|field| field.r#type() == Type::Message) {
        assert!(messages.contains_key(field.type_name()), "{} is not described", field.type_name());
    }
    let names: Vec<_> = decoded.file.iter().map(FileDescriptorProto::name).collect();
    for (place, file) in decoded.file.iter().enumerate() {
        assert!(file.dependency.iter().all(|needed| names[..place].contains(&needed.as_str())));
    }
}
