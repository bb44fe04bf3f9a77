//! A plain check read where it lies: `{"domain", "attributes", "cost"}` whose texts have no escapes, which is what nearly all
//! callers send. Whatever else comes is nothing to be said about here: it is read the long way, which has words for what is wrong.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use smallvec::SmallVec;

/// More attributes than this are read the long way.
const MOST: usize = 16;

/// Few have more than six.
type Pairs<'b> = SmallVec<[(&'b str, &'b str); 6]>;

/// A plain check. Not to be shown: values may be secret.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plain<'b> {
    pub(super) domain: &'b str,
    #[serde(borrow, default, deserialize_with = "pairs")]
    pub(super) attributes: Pairs<'b>,
    #[serde(default = "one")]
    pub(super) cost: u64,
}

/// The check, if it is a plain one.
pub(super) fn read(body: &[u8]) -> Option<Plain<'_>> {
    // A list of values in their order would do as well, and is a batch.
    let is_object = body.trim_ascii_start().starts_with(b"{");
    is_object.then(|| serde_json::from_slice(body).ok()).flatten()
}

const fn one() -> u64 {
    1
}

fn pairs<'de: 'b, 'b, D: Deserializer<'de>>(from: D) -> Result<Pairs<'b>, D::Error> {
    from.deserialize_map(Attributes(PhantomData))
}

struct Attributes<'b>(PhantomData<Pairs<'b>>);

impl<'de: 'b, 'b> Visitor<'de> for Attributes<'b> {
    type Value = Pairs<'b>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("texts by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'b>, A::Error> {
        let mut pairs = Pairs::new();
        while let Some((name, value)) = map.next_entry::<&str, &str>()? {
            // The long way has words for a name that is there twice.
            if pairs.len() == MOST || pairs.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom("not plain"));
            }
            pairs.push((name, value));
        }
        Ok(pairs)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::body;
    use super::*;
    use crate::door::question::Question;

    /// The same by the long way, if that has nothing to say against it.
    fn long(body: &[u8]) -> Option<Question> {
        Question::read(body::json(body).ok()?).ok()
    }

    fn agree(body: &[u8]) -> Result<(), TestCaseError> {
        let Some(plain) = read(body) else { return Ok(()) };
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
            assert!(read(body.as_bytes()).is_some() && agree(body.as_bytes()).is_ok(), "{body}");
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
            assert!(read(body.as_bytes()).is_none(), "{body}");
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
}
