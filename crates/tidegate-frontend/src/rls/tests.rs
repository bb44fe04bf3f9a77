//! A tonic client asks the service, in process and once over a socket.

use std::time::Duration;

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::{
    Entry, RateLimitOverride,
};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code as Overall;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use envoy_types::pb::google::protobuf::UInt64Value;
use http_body_util::{BodyExt as _, Full};
use prost::Message as _;
use tidegate_store::Reference;
use tokio::net::TcpListener;
use tonic::Code;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Response, Status};

use super::*;
use crate::door::tests::{Faulty, Noting, door, door_to};
use crate::door::{DoorSettings, Undecided};
use tidegate_wire::trust::Trust;

const RULES: &str = "
domain: mesh
descriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 2 }, metadata: { team: a } }]
";

fn descriptor(key: &str, value: &str) -> RateLimitDescriptor {
    let entry = Entry { key: key.to_owned(), value: value.to_owned() };
    RateLimitDescriptor { entries: vec![entry], ..RateLimitDescriptor::default() }
}

fn question(descriptors: Vec<RateLimitDescriptor>) -> RateLimitRequest {
    RateLimitRequest { domain: "mesh".to_owned(), descriptors, hits_addend: 0 }
}

async fn ask<S: Store>(door: &Door<S>, message: RateLimitRequest) -> Result<RateLimitResponse, Status> {
    let mut client = RateLimitServiceClient::new(service(door.clone()));
    client.should_rate_limit(message).await.map(Response::into_inner)
}

fn header<'r>(response: &'r RateLimitResponse, name: &str) -> Option<&'r str> {
    let found = response.response_headers_to_add.iter().find(|header| header.key == name);
    found.map(|header| header.value.as_str())
}

#[tokio::test]
async fn what_is_not_there_is_told_from_0_on_the_wire() {
    let (door, _) = door(RULES);
    let hits = |hits| RateLimitDescriptor {
        hits_addend: Some(UInt64Value { value: hits }),
        ..descriptor("user", "a")
    };
    let left = |response: &RateLimitResponse| response.statuses[0].limit_remaining;
    assert_eq!(left(&ask(&door, question(vec![hits(0)])).await.unwrap()), 2);
    assert_eq!(left(&ask(&door, question(vec![descriptor("user", "a")])).await.unwrap()), 1);
    let back = RateLimitDescriptor { is_negative_hits: true, ..descriptor("user", "a") };
    assert_eq!(left(&ask(&door, question(vec![back])).await.unwrap()), 2);
    let all = RateLimitRequest { hits_addend: 2, ..question(vec![descriptor("user", "a")]) };
    assert_eq!(left(&ask(&door, all).await.unwrap()), 0);
}

#[tokio::test]
async fn a_question_that_is_none_is_an_invalid_argument() {
    let (door, _) = door(RULES);
    let limit = Some(RateLimitOverride { requests_per_unit: 1, unit: 0 });
    let unknown = question(vec![RateLimitDescriptor { limit, ..descriptor("user", "s3cret") }]);
    for (message, says) in [
        (RateLimitRequest::default(), "rate limit domain must not be empty"),
        (question(vec![]), "rate limit descriptor list must not be empty"),
        (
            unknown,
            "the limit of a descriptor has no known unit; use SECOND, MINUTE, HOUR, DAY, MONTH or YEAR",
        ),
        (
            RateLimitRequest { domain: "d".repeat(257), ..question(vec![descriptor("user", "a")]) },
            "the domain has 257 bytes and the most is 256",
        ),
        (question(vec![descriptor("user", "a"); 65]), "the check has 65 descriptors and the most is 64"),
    ] {
        let status = ask(&door, message).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::InvalidArgument, says));
    }
}

#[tokio::test]
async fn what_a_client_sent_is_refused_and_not_an_error() {
    let (door, _) = door("domain: mesh\nrules: [{ name: a, by: [user], limit: 9/s }]");
    let long = "s3cret".repeat(4_000);
    let response =
        ask(&door, question(vec![descriptor("user", &long), descriptor("path", "/x")])).await.unwrap();
    assert_eq!(response.overall_code, Overall::OverLimit as i32);
    assert!(response.statuses.iter().all(|status| status.code == Overall::OverLimit as i32));
    let body = String::from_utf8(response.raw_body).unwrap();
    assert!(
        body.contains("a value has 24000 bytes and the most is 16384") && !body.contains("s3cret"),
        "{body}"
    );
}

#[tokio::test]
async fn a_cost_beyond_the_bound_is_refused_too_since_a_route_may_take_it_from_the_request() {
    let (door, _) = door(RULES);
    let hits = Some(UInt64Value { value: u64::MAX });
    for negative in [false, true] {
        let dear =
            RateLimitDescriptor { hits_addend: hits, is_negative_hits: negative, ..descriptor("user", "a") };
        let response = ask(&door, question(vec![dear, descriptor("path", "/x")])).await.unwrap();
        assert_eq!(response.overall_code, Overall::OverLimit as i32);
        let body = String::from_utf8(response.raw_body).unwrap();
        assert!(body.contains("is more than 1000000000000"), "{body}");
    }
    let left = ask(&door, question(vec![descriptor("user", "a")])).await.unwrap();
    assert_eq!(left.statuses[0].limit_remaining, 1, "nothing was charged");
}

#[tokio::test]
async fn what_nobody_could_decide_may_be_unavailable_for_security_and_passes_for_comfort() {
    for (class, code) in [("security", Some(Code::Unavailable)), ("comfort", None)] {
        let rules = format!(
            "domain: mesh\ndefaults: {{ class: {class} }}\nrules: [{{ name: a, by: [user], limit: 1/s }}]"
        );
        let settings = DoorSettings { undecided: Undecided::Unavailable, ..DoorSettings::default() };
        let (door, _) = door_to(Faulty::Failing, &rules, settings);
        let came = ask(&door, question(vec![descriptor("user", "a")])).await;
        assert_eq!(came.err().map(|status| status.code()), code);
    }
}

#[tokio::test(start_paused = true)]
async fn class_decides_before_the_deadline() {
    let rules = "domain: mesh\nrules: [{ name: a, by: [user], limit: 1/s, class: security }]";
    let (door, _) = door_to(Faulty::Stuck, rules, DoorSettings::default());
    let mut message = tonic::Request::new(question(vec![descriptor("user", "a")]));
    message.set_timeout(Duration::from_millis(20));
    let started = tokio::time::Instant::now();
    let response =
        RateLimitServiceClient::new(service(door.clone())).should_rate_limit(message).await.unwrap();
    assert_eq!(response.into_inner().overall_code, Overall::OverLimit as i32);
    assert!(started.elapsed() < Duration::from_millis(20), "{:?}", started.elapsed());
    assert_eq!(door.in_flight(), 0);
}

#[tokio::test]
async fn the_store_is_told_of_the_deadline_and_of_an_earlier_one() {
    let store = Noting::default();
    let (door, hands) = door_to(store.clone(), RULES, DoorSettings::default());
    let ask = async |timeout: Option<&'static str>| {
        let mut message = tonic::Request::new(question(vec![descriptor("user", "a")]));
        if let Some(timeout) = timeout {
            message.metadata_mut().insert("grpc-timeout", timeout.parse().unwrap());
        }
        RateLimitServiceClient::new(service(door.clone())).should_rate_limit(message).await.unwrap();
        store.taken()
    };
    hands.move_by_s(1);
    assert_eq!(ask(Some("20m")).await, [16_000]);
    assert_eq!(ask(Some("5m")).await, [3_000], "never less than 2 ms for the way back");
    assert_eq!(ask(Some("10S")).await, [8_000_000]);
    for none in [None, Some("soon"), Some("20")] {
        assert_eq!(ask(none).await, [0], "{none:?}");
    }
}

#[tokio::test]
async fn a_message_past_the_bound_is_refused() {
    let (door, _) =
        door_to(Faulty::Failing, RULES, DoorSettings { max_body_bytes: 100, ..DoorSettings::default() });
    let response = ask(&door, question(vec![descriptor("user", &"x".repeat(100))])).await.unwrap();
    assert_eq!(response.overall_code, Overall::OverLimit as i32);
    let body = String::from_utf8(response.raw_body).unwrap();
    assert!(body.contains("the message may have 100 bytes at most"), "{body}");
}

/// Clients send such values, and Envoy passes them on as they are. What comes back, by a client whose texts are bytes.
#[tokio::test]
async fn a_value_that_is_no_text_is_counted_as_one_and_is_no_way_around_other_limits() {
    let (door, _) =
        door("domain: mesh\nrules: [{ name: a, by: [ip], limit: 1/h }, { name: b, by: [user], limit: 9/h }]");
    let ask = async |user: &[u8]| {
        let texts =
            question(vec![descriptor("ip", "192.0.2.1"), descriptor("user", &"u".repeat(user.len()))]);
        let mut message = texts.encode_to_vec();
        let place = message.len() - user.len();
        message[place..].copy_from_slice(user);
        let framed = [&[0][..], &u32::try_from(message.len()).unwrap().to_be_bytes(), &message].concat();
        let call = http::Request::post(PATH).header("content-type", "application/grpc");
        let begun = call::begin(&door, call.body(Full::new(Bytes::from(framed))).unwrap(), None);
        let answer = call::finish(&door, begun).await.into_body().collect().await.unwrap().to_bytes();
        let response = RateLimitResponse::decode(&answer[5..]).unwrap();
        (
            response.overall_code(),
            response.statuses.into_iter().map(|status| status.limit_remaining).collect(),
        )
    };
    assert_eq!(ask(b"\xffk").await, (Overall::Ok, vec![0, 8]));
    assert_eq!(ask(b"\xfek").await, (Overall::OverLimit, vec![0, 8]), "by its address");
    assert_eq!(ask(&[0xFF; 9000]).await, (Overall::OverLimit, vec![0, 0]), "too long");
}

#[tokio::test]
async fn over_a_socket_the_third_of_two_is_over_the_limit() {
    let (door, _) = door(RULES);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Server::builder().add_service(service(door)).serve_with_incoming(TcpIncoming::from(listener));
    let server = tokio::spawn(serve);
    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    let mut client = RateLimitServiceClient::new(channel);
    let mut ask = async || {
        let message = question(vec![descriptor("user", "a")]);
        client.should_rate_limit(message).await.unwrap().into_inner()
    };
    for _ in 0..2 {
        let response = ask().await;
        assert_eq!((response.overall_code(), response.raw_body.is_empty()), (Overall::Ok, true));
        assert_eq!(header(&response, "content-type"), None);
    }
    let response = ask().await;
    assert_eq!(response.overall_code(), Overall::OverLimit);
    assert_eq!(header(&response, "content-type"), Some("application/problem+json"));
    assert!(header(&response, "retry-after").is_some());
    server.abort();
}

#[tokio::test]
async fn what_is_claimed_without_being_trusted_is_left_out_and_has_a_status() {
    let trust = Trust::only(Vec::new(), ["user"]);
    let (door, _) = door_to(Reference::new(), RULES, DoorSettings { trust, ..DoorSettings::default() });
    for _ in 0..3 {
        let response = ask(&door, question(vec![descriptor("user", "a")])).await.unwrap();
        assert_eq!((response.overall_code(), response.statuses.len()), (Overall::Ok, 1));
    }
    assert_eq!(door.settings().trust.ignored().collect::<Vec<_>>(), [("user", 3)]);
}
