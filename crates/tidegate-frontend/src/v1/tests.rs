//! A tonic client asks the service, in process.

use envoy_types::pb::google::protobuf::{FileDescriptorSet, MethodDescriptorProto};
use prost::Message as _;
use tidegate_store::Reference;
use tonic::Code;

use super::proto::limits_client::LimitsClient;
use super::proto::result::Result as Said;
use super::*;
use crate::door::DoorSettings;
use crate::door::tests::{Faulty, door, door_to};
use tidegate_wire::trust::Trust;

const RULES: &str = "
domain: api
rules:
  - { name: per-key, by: [api_key], limit: 2/min }
  - { name: exports, match: { path: /exports }, by: [api_key], limit: 1 concurrent }
";

fn check(pairs: &[(&str, &str)]) -> proto::CheckRequest {
    let attributes = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    proto::CheckRequest { domain: "api".to_owned(), attributes, ..proto::CheckRequest::default() }
}

#[tokio::test]
async fn a_check_is_decided_and_told() {
    let mut client = LimitsClient::new(service(door(RULES).0));
    for remaining in [1, 0] {
        let decision = client.check(check(&[("api_key", "k")])).await.unwrap().into_inner();
        assert!(decision.allowed && decision.status == 200 && decision.retry_after_ms.is_none());
        assert_eq!((decision.limits[0].rule.as_str(), decision.limits[0].remaining), ("per-key", remaining));
    }
    let refused = client.check(check(&[("api_key", "k")])).await.unwrap().into_inner();
    assert_eq!((refused.allowed, refused.decision.as_str(), refused.status), (false, "deny", 429));
    assert_eq!((refused.denied_by, refused.state.as_str()), (vec!["per-key".to_owned()], "exact"));
    assert!(refused.retry_after_ms.unwrap() > 0);
    assert!(refused.headers.iter().any(|header| header.name == "retry-after"));
    let other = client.peek(check(&[("api_key", "other")])).await.unwrap().into_inner();
    assert_eq!((other.allowed, other.limits[0].remaining), (true, 2));
}

#[tokio::test]
async fn a_cost_that_is_not_set_is_one_and_nought_is_nought() {
    let mut client = LimitsClient::new(service(door(RULES).0));
    let free = proto::CheckRequest { cost: Some(0), ..check(&[("api_key", "k")]) };
    assert_eq!(client.check(free).await.unwrap().into_inner().limits[0].remaining, 2);
    assert_eq!(client.check(check(&[("api_key", "k")])).await.unwrap().into_inner().limits[0].remaining, 1);
}

#[tokio::test]
async fn what_is_reserved_is_settled_once() {
    let mut client = LimitsClient::new(service(door(RULES).0));
    let asked = proto::CheckRequest { cost: Some(2), ..check(&[("api_key", "k")]) };
    let reserve = proto::ReserveRequest { check: Some(asked), ..proto::ReserveRequest::default() };
    let id = client.reserve(reserve).await.unwrap().into_inner().id;
    client
        .commit(proto::CommitRequest { id: id.clone(), cost: Some(1), ..Default::default() })
        .await
        .unwrap();
    assert_eq!(client.peek(check(&[("api_key", "k")])).await.unwrap().into_inner().limits[0].remaining, 1);
    let again = client.cancel(proto::CancelRequest { id }).await.unwrap_err();
    assert_eq!(again.code(), Code::NotFound);
}

#[tokio::test]
async fn commit_takes_attributes() {
    let rules = "domain: api\nrules: [{ name: tpm, by: [user], limit: 100/min, cost: tokens }]";
    let mut client = LimitsClient::new(service(door(rules).0));
    let asked = check(&[("user", "a"), ("tokens", "90")]);
    let reserve = proto::ReserveRequest { check: Some(asked), ..proto::ReserveRequest::default() };
    let id = client.reserve(reserve).await.unwrap().into_inner().id;
    let commit = |name: &str| proto::CommitRequest {
        id: id.clone(),
        attributes: [(name.to_owned(), "40".to_owned())].into(),
        ..proto::CommitRequest::default()
    };
    assert_eq!(client.commit(commit("points")).await.unwrap_err().code(), Code::InvalidArgument);
    let nothing = proto::CommitRequest { id: id.clone(), ..proto::CommitRequest::default() };
    assert_eq!(client.commit(nothing).await.unwrap_err().code(), Code::InvalidArgument);
    client.commit(commit("tokens")).await.unwrap();
    assert_eq!(client.peek(check(&[("user", "a")])).await.unwrap().into_inner().limits[0].remaining, 60);
}

#[tokio::test]
async fn slots_are_renewed_and_given_back() {
    let mut client = LimitsClient::new(service(door(RULES).0));
    let export = check(&[("api_key", "k"), ("path", "/exports")]);
    let id = client.check(export.clone()).await.unwrap().into_inner().id;
    assert!(!client.check(export.clone()).await.unwrap().into_inner().allowed);
    let renewed = client.renew(proto::RenewRequest { id: id.clone() }).await.unwrap().into_inner();
    assert!(renewed.ends_after_ms > 0);
    client.release(proto::ReleaseRequest { id }).await.unwrap();
    assert!(client.check(export).await.unwrap().into_inner().allowed);
}

#[tokio::test]
async fn what_was_charged_can_be_given_back() {
    let mut client = LimitsClient::new(service(door(RULES).0));
    client.check(check(&[("api_key", "k")])).await.unwrap();
    let refund = proto::RefundRequest { check: Some(check(&[("api_key", "k")])), charged_at_ms: None };
    client.refund(refund).await.unwrap();
    assert_eq!(client.peek(check(&[("api_key", "k")])).await.unwrap().into_inner().limits[0].remaining, 2);
}

#[tokio::test]
async fn what_nobody_could_give_back_is_told_as_such() {
    let (door, _) = door_to(Faulty::Failing, RULES, DoorSettings::default());
    let refund = proto::RefundRequest { check: Some(check(&[("api_key", "k")])), charged_at_ms: None };
    let error = LimitsClient::new(service(door)).refund(refund).await.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
}

#[tokio::test]
async fn several_are_decided_one_after_the_other() {
    let mut client = LimitsClient::new(service(door(RULES).0));
    let bad = proto::CheckRequest { cost: Some(u64::MAX), ..check(&[]) };
    let checks =
        vec![check(&[("api_key", "k")]), bad, check(&[("api_key", "k")]), check(&[("api_key", "k")])];
    let results = client.check_many(proto::CheckManyRequest { checks }).await.unwrap().into_inner().results;
    let told: Vec<Option<bool>> = results
        .into_iter()
        .map(|result| match result.result.unwrap() {
            Said::Decision(decision) => Some(decision.allowed),
            Said::Invalid(_) => None,
        })
        .collect();
    assert_eq!(told, [Some(true), None, Some(true), Some(false)]);
    let many = proto::CheckManyRequest { checks: vec![check(&[]); 101] };
    assert_eq!(client.check_many(many).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn what_cannot_be_asked_is_told_without_a_value() {
    let mut client = LimitsClient::new(service(door(RULES).0));
    let nothing = proto::ReserveRequest::default();
    assert_eq!(client.reserve(nothing).await.unwrap_err().code(), Code::InvalidArgument);
    let error = client.release(proto::ReleaseRequest { id: "secret".to_owned() }).await.unwrap_err();
    assert!(error.code() == Code::InvalidArgument && !error.message().contains("secret"));
    let key = Some("order".to_owned());
    let first = proto::CheckRequest { idempotency_key: key.clone(), ..check(&[("api_key", "k")]) };
    client.check(first).await.unwrap();
    let other = proto::CheckRequest { idempotency_key: key, cost: Some(2), ..check(&[("api_key", "k")]) };
    assert_eq!(client.check(other).await.unwrap_err().code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn a_store_that_fails_is_told_as_such() {
    let mut client = LimitsClient::new(service(door_to(Faulty::Failing, RULES, DoorSettings::default()).0));
    let decision = client.check(check(&[("api_key", "k")])).await.unwrap().into_inner();
    assert_eq!(decision.state, "open");
}

/// What was generated is from the description as it is: the same calls and the same fields, in the same order.
#[test]
fn the_types_are_those_of_the_description() {
    let text = include_str!("../../proto/tidegate/v1/limits.proto");
    let lines = || text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let calls: Vec<&str> = lines().filter_map(|line| line.strip_prefix("rpc ")?.split('(').next()).collect();
    let fields: Vec<(&str, &str)> = lines()
        .filter_map(|line| {
            let (names, number) = line.strip_suffix(';')?.split_once(" = ")?;
            Some((names.rsplit(' ').next()?, number)).filter(|_| !line.starts_with("syntax"))
        })
        .collect();
    let described = FileDescriptorSet::decode(file_descriptor_set()).unwrap();
    let [file] = described.file.as_slice() else { panic!("there is one file") };
    assert!(file.service[0].method.iter().map(MethodDescriptorProto::name).eq(calls));
    let numbers: Vec<(&str, String)> = file
        .message_type
        .iter()
        .flat_map(|message| &message.field)
        .map(|field| (field.name(), field.number().to_string()))
        .collect();
    assert_eq!(numbers.iter().map(|(name, number)| (*name, number.as_str())).collect::<Vec<_>>(), fields);
}

#[tokio::test]
async fn what_is_claimed_without_being_trusted_is_left_out() {
    let trust = Trust::only(Vec::new(), ["api_key"]);
    let (door, _) = door_to(Reference::new(), RULES, DoorSettings { trust, ..DoorSettings::default() });
    let mut client = LimitsClient::new(service(door.clone()));
    let alone = client.check(check(&[("api_key", "k")])).await.unwrap().into_inner();
    assert!(alone.allowed && alone.limits.is_empty());
    let many = proto::CheckManyRequest { checks: vec![check(&[("api_key", "k")]); 3] };
    let results = client.check_many(many).await.unwrap().into_inner().results;
    assert_eq!(results.len(), 3);
    assert_eq!(door.settings().trust.ignored().collect::<Vec<_>>(), [("api_key", 4)]);
}

/// What a call of `Check` with those bytes for a body is told.
async fn said_to(service: Paid<Reference>, body: Vec<u8>) -> Code {
    let request =
        http::Request::post(format!("/{SERVICE_NAME}/Check")).header("content-type", "application/grpc");
    let request = request.body(http_body_util::Full::new(body.into())).unwrap();
    let mut service = service;
    let Ok(response) = tower_service::Service::call(&mut service, request).await;
    Status::from_header_map(response.headers()).map_or(Code::Ok, |status| status.code())
}

#[tokio::test]
async fn messages_are_whole() {
    let settings = DoorSettings { max_body_bytes: 100, ..DoorSettings::default() };
    let (door, _) = door_to(Reference::new(), RULES, settings);
    let asked = check(&[("api_key", "k")]).encode_to_vec();
    let length = u8::try_from(asked.len()).unwrap();
    let framed = |flag: u8, length: [u8; 4]| [&[flag], length.as_slice(), &asked].concat();
    let sound = framed(0, [0, 0, 0, length]);
    for (body, expected) in [
        (sound.clone(), Code::Ok),
        (framed(1, [0, 0, 0, length]), Code::Unimplemented),
        (framed(0, [0, 0, 0, length + 1]), Code::InvalidArgument),
        (framed(0, [0xff; 4]), Code::InvalidArgument),
        ([sound.clone(), sound.clone()].concat(), Code::InvalidArgument),
        (vec![0; 106], Code::OutOfRange),
        (Vec::new(), Code::InvalidArgument),
    ] {
        assert_eq!(said_to(service(door.clone()), body.clone()).await, expected, "{body:?}");
        assert_eq!(door.body_bytes(), 0);
    }
}

#[tokio::test]
async fn long_messages_pay_for_their_room() {
    let settings = DoorSettings { max_body_bytes: 8000, max_bodies_bytes: 1, ..DoorSettings::default() };
    let (door, _) = door_to(Reference::new(), RULES, settings);
    let call = |value: String| {
        let asked = check(&[("api_key", "k"), ("note", &value)]).encode_to_vec();
        let length = u32::try_from(asked.len()).unwrap().to_be_bytes();
        said_to(service(door.clone()), [&[0], length.as_slice(), &asked].concat())
    };
    let long = || call("a".repeat(6000));
    assert_eq!(long().await, Code::Ok);
    assert_eq!(door.body_bytes(), 0);
    let mut others = door.bodies().share();
    assert!(others.grow(8000));
    assert_eq!(long().await, Code::ResourceExhausted);
    assert_eq!(call("short".to_owned()).await, Code::Ok, "whoever needs little is served");
}

#[tokio::test]
async fn shadow_limits_are_told_when_set() {
    const RULES: &str = "
domain: api
rules:
  - { name: per-key, by: [api_key], limit: 2/min }
  - { name: secret, by: [api_key], limit: 1/min, mode: shadow }
";
    for (tell_shadow, rules) in [(false, vec!["per-key"]), (true, vec!["per-key", "secret"])] {
        let settings = DoorSettings { tell_shadow, ..DoorSettings::default() };
        let mut client = LimitsClient::new(service(door_to(Reference::new(), RULES, settings).0));
        let decision = client.check(check(&[("api_key", "k")])).await.unwrap().into_inner();
        let told: Vec<_> = decision.limits.iter().map(|limit| limit.rule.as_str()).collect();
        assert_eq!(told, rules);
        assert_eq!((decision.limits[0].name.as_str(), decision.limits[0].window_s), ("per-key", Some(60)));
    }
}
