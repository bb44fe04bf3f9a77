//! What cannot be understood: said with the name of what is wrong, without its value, and never by falling over.

use proptest::prelude::*;

use super::*;
use crate::door::tests::wait;

const ROUTES: [&str; 9] = [
    "/v1/check",
    "/v1/peek",
    "/v1/reserve",
    "/v1/refund",
    "/v1/commit",
    "/v1/cancel",
    "/v1/release",
    "/v1/renew",
    "/json",
];

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table of bodies and what is said of each")]
async fn what_is_wrong_is_named_and_not_repeated() {
    let (door, _) = door(RULES);
    for (path, body, says) in [
        (
            "/v1/check",
            r#"{"domain":"api","s3cret":1}"#.replace("s3cret", "colour"),
            "the check has an unknown field `colour`; it knows domain, attributes, descriptors, cost, idempotency_key",
        ),
        ("/v1/check", r#"{"attributes":{}}"#.into(), "the check has no `domain`"),
        ("/v1/check", r#"{"domain":""}"#.into(), "the domain is empty; name the domain whose rules apply"),
        (
            "/v1/check",
            r#"{"domain":"api","idempotency_key":""}"#.into(),
            "the idempotency key is empty; leave it out, or use a new key for each request",
        ),
        (
            "/v1/check",
            r#"{"domain":"api","attributes":{"user":"s3cret","user":"bob"}}"#.into(),
            "a name is there twice in the JSON, at line 1 column 52; send it once",
        ),
        (
            "/json",
            "{\"domain\":\"api\",\n\"domain\":\"s3cret\"}".into(),
            "a name is there twice in the JSON, at line 2 column 8; send it once",
        ),
        (
            "/v1/check",
            r#"{"domain":["s3cret"]}"#.into(),
            "`domain` of the check is a list and should be text",
        ),
        (
            "/v1/check",
            r#"{"domain":"api","cost":"s3cret"}"#.into(),
            "`cost` of the check is text and should be a whole number from 0 on",
        ),
        (
            "/v1/check",
            r#"{"domain":"api","cost":-1}"#.into(),
            "`cost` of the check is a number below 0 or with a fraction and should be a whole number from 0 on",
        ),
        (
            "/v1/check",
            r#"{"domain":"api","cost":9999999999999}"#.into(),
            "a cost of 9999999999999 is more than 1000000000000",
        ),
        (
            "/v1/check",
            r#"{"domain":"api","attributes":["s3cret"]}"#.into(),
            "`attributes` is a list and should be an object",
        ),
        (
            "/v1/check",
            r#"{"domain":"api","attributes":{"user":["s3cret"]}}"#.into(),
            "a value of `attributes` is a list and should be text",
        ),
        (
            "/v1/check",
            r#"{"domain":"api","descriptors":[["s3cret"]]}"#.into(),
            "an entry is text and should be [\"key\", \"value\"]",
        ),
        (
            "/v1/check",
            r#"{"domain":"api","descriptors":[[["s3cret"]]]}"#.into(),
            "an entry has 1 parts and should be [\"key\", \"value\"]",
        ),
        ("/v1/check", r#""s3cret""#.into(), "the check is text and should be an object"),
        ("/v1/check", r#"{"checks":"s3cret"}"#.into(), "`checks` of the batch is text and should be a list"),
        ("/v1/check", String::new(), "the body is empty; send a JSON object"),
        ("/v1/check", r#"{"domain":"s3cret"#.into(), "the body ends in the middle of the JSON"),
        ("/v1/check", "{\"domain\":\n s3cret}".into(), "the body is not JSON from line 2 column 2 on"),
        ("/v1/check", "[".repeat(1000), "the JSON is nested too deeply"),
        (
            "/v1/check",
            format!("[{}]", vec!["{}"; 101].join(",")),
            "the batch has 101 checks and the most is 100; send several",
        ),
        ("/v1/reserve", r#"{"domain":"api","hold_ms":0}"#.into(), "`hold_ms` should be from 1 to 86400000"),
        (
            "/v1/reserve",
            r#"{"domain":"api","at_end":"s3cret"}"#.into(),
            "`at_end` should be \"keep\" or \"give_back\"",
        ),
        ("/v1/cancel", r#"{"id":"s3cret"}"#.into(), "`id` should be the 32 hexadecimal digits of a decision"),
        (
            "/v1/cancel",
            r#"{"id":"+0000000000000000000000000000001"}"#.into(),
            "`id` should be the 32 hexadecimal digits of a decision",
        ),
        (
            "/v1/commit",
            r#"{"id":"00000000000000000000000000000001"}"#.into(),
            "there is no `cost` and no `attributes`; say what was used",
        ),
    ] {
        let back = post(&door, path, &body).await;
        assert_eq!(back.problem(400), says, "{path} {body}");
        assert!(!back.body.to_string().contains("s3cret"), "{}", back.body);
        assert!(back.body.get("violated-policies").is_none());
    }
}

#[tokio::test]
async fn other_methods_types_and_sizes_have_statuses_of_their_own() {
    let settings = DoorSettings { max_body_bytes: 100, ..DoorSettings::default() };
    let (door, _) = door_to(Reference::new(), RULES, settings);
    let back = send(&door, Request::get("/v1/check").body(Body::empty()).unwrap()).await;
    back.problem(405);
    assert_eq!(back.headers["allow"], "POST");

    let form = Request::post("/v1/check").header("content-type", "application/x-www-form-urlencoded");
    send(&door, form.body(Body::from("{}")).unwrap()).await.problem(415);
    let charset = Request::post("/v1/check").header("content-type", "Application/JSON; charset=utf-8");
    assert_eq!(send(&door, charset.body(Body::from(alice().to_string())).unwrap()).await.status, 200);
    let untyped = Request::post("/v1/check").body(Body::from(alice().to_string())).unwrap();
    assert_eq!(send(&door, untyped).await.status, 200);

    assert_eq!(
        post(&door, "/v1/check", " ".repeat(101)).await.problem(413),
        "the body may have 100 bytes at most"
    );
    let announced = Request::post("/v1/check").header("content-length", "101").body(Body::empty()).unwrap();
    send(&door, announced).await.problem(413);
}

#[tokio::test]
async fn whatever_cannot_be_asked_is_counted_once_by_the_door_or_by_the_engine() {
    let (door, _) = door(RULES);
    let no_domain = json!({ "domain": "" }).to_string();
    for (path, body, by_door, by_engine) in [
        ("/v1/check", "{", 1, 0),
        ("/v1/check", r#"{"domain": 5}"#, 1, 0),
        ("/v1/check", &no_domain, 0, 1),
        ("/v1/check", r#"[{"domain": 5}, {"colour": 1}, {"domain": "api"}, {"domain": ""}]"#, 2, 1),
        ("/v1/reserve", r#"{"domain": "api", "at_end": "never"}"#, 1, 0),
        ("/v1/cancel", r#"{"id": 5}"#, 1, 0),
        ("/v1/cancel", r#"{"id": "00000000000000000000000000000001"}"#, 0, 0),
        ("/json", r#"{"colour": 1}"#, 1, 0),
        ("/json", r#"{"domain": "api"}"#, 1, 0),
        ("/json", r#"{"domain": "api", "descriptors": [{"hitsAddend": "99999999999999"}]}"#, 0, 1),
    ] {
        let counts = || (door.malformed(), door.engine().observed().malformed_checks());
        let before = counts();
        post(&door, path, body).await;
        assert_eq!(counts(), (before.0 + by_door, before.1 + by_engine), "{path} {body}");
    }
}

/// Any JSON, with the names and shapes that the routes know among it.
fn any_json() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "domain",
        "attributes",
        "descriptors",
        "cost",
        "idempotency_key",
        "checks",
        "hold_ms",
        "at_end",
        "id",
        "entries",
        "key",
        "value",
        "limit",
        "unit",
        "hits_addend",
        "hitsAddend",
        "is_negative_hits",
        "requests_per_unit",
        "charged_at_ms",
        "user",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop_oneof!["api", "keep", "MINUTE", "[0-9a-f]{32}", ".{0,300}"].prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(names.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_makes_a_route_fall_over(json in any_json()) {
        let (door, _) = door(RULES);
        for path in ROUTES {
            let back = wait(post(&door, path, &json));
            prop_assert!(back.status.as_u16() < 500, "{} {}: {}", path, json, back.body);
        }
    }

    #[test]
    fn nor_do_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (door, _) = door(RULES);
        for path in ROUTES {
            let back = wait(send(&door, Request::post(path).body(Body::from(bytes.clone())).unwrap()));
            prop_assert!(back.status.as_u16() < 500);
        }
    }
}
