//! Plain checks and the tree of JSON agree on every body that is a plain check.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::door::question::Question;
use tidegate_wire::json::PlainCheck;

/// The same by the long way, if that has nothing to say against it.
fn long(body: &[u8]) -> Option<Question> {
    Question::read(body::json(body).ok()?).ok()
}

fn agree(body: &[u8]) -> Result<(), TestCaseError> {
    let Some(plain) = PlainCheck::read(body) else { return Ok(()) };
    let long = long(body);
    prop_assert!(long.is_some(), "only the short way takes it");
    let Some(long) = long else { return Ok(()) };
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut pairs: Vec<_> = plain.attributes.iter().map(owned).collect();
    let mut others = long.attributes;
    pairs.sort();
    others.sort();
    prop_assert_eq!((pairs, Some(plain.domain), plain.cost), (others, long.domain.as_deref(), long.cost));
    prop_assert!(long.descriptors.is_empty() && long.idempotency_key.is_none());
    Ok(())
}

#[test]
fn what_nearly_all_send_is_plain() {
    for body in [
        r#"{"domain":"api","attributes":{"user":"a","path":"/x"}}"#,
        r#" { "cost" : 3, "attributes" : { }, "domain" : "é" } "#,
        r#"{"domain":"api"}"#,
    ] {
        assert!(PlainCheck::read(body.as_bytes()).is_some() && agree(body.as_bytes()).is_ok(), "{body}");
    }
}

#[test]
fn what_needs_thought_is_left_to_the_long_way() {
    let many: Vec<String> = (0..17).map(|number| format!(r#""a{number}":"b""#)).collect();
    for body in [
        r#"{"domain":"a\n"}"#,
        r#"{"domain":"a","attributes":{"u":1}}"#,
        r#"{"domain":"a","attributes":{"u":"1","u":"2"}}"#,
        r#"{"domain":"a","attributes":null}"#,
        r#"{"domain":"a","cost":null}"#,
        r#"{"domain":"a","cost":1.0}"#,
        r#"{"domain":"a","cost":-1}"#,
        r#"{"domain":"a","domain":"b"}"#,
        r#"{"domain":"a","idempotency_key":"k"}"#,
        r#"{"domain":"a"} x"#,
        r#"["a"]"#,
        "[]",
        "",
        &format!(r#"{{"domain":"a","attributes":{{{}}}}}"#, many.join(",")),
    ] {
        assert!(PlainCheck::read(body.as_bytes()).is_none(), "{body}");
    }
}

proptest! {
    #[test]
    fn both_ways_read_the_same(
        domain in ".{0,9}",
        attributes in prop::collection::btree_map(".{0,9}", ".{0,9}", 0..4),
        cost in prop::option::of(any::<u64>()),
        place in any::<prop::sample::Index>(),
        change in prop::option::of(any::<u8>()),
    ) {
        let mut check = json!({ "domain": domain, "attributes": attributes });
        if let Some(cost) = cost {
            check["cost"] = json!(cost);
        }
        let mut body = check.to_string().into_bytes();
        if let Some(byte) = change {
            let place = place.index(body.len());
            body[place] = byte;
        }
        agree(&body)?;
    }
}
