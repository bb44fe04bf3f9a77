//! JSON in which no object has a name twice. Of one that has, every reader makes something else (RFC 8259, section 4): what was
//! counted would depend on who reads it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

/// A value in which no object has a name twice.
pub struct UniqueKeys(pub Value);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(truth.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(UniqueKeys(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            match values.entry(name) {
                Entry::Vacant(place) => place.insert(map.next_value::<UniqueKeys>()?.0),
                Entry::Occupied(_) => return Err(A::Error::custom("a name is there twice")),
            };
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::from_slice;

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,9}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,3}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn reads_like_serde_json_otherwise(
            value in any_json(),
            place in any::<prop::sample::Index>(),
            change in prop::option::of(any::<u8>()),
        ) {
            let mut body = value.to_string().into_bytes();
            if let Some(byte) = change {
                let place = place.index(body.len());
                body[place] = byte;
            }
            let (once, other) = (from_slice::<UniqueKeys>(&body), from_slice::<Value>(&body));
            match (once, other) {
                (Ok(UniqueKeys(once)), other) => prop_assert_eq!(Some(once), other.ok()),
                (Err(error), Ok(_)) => prop_assert!(error.is_data(), "{}", error),
                (Err(once), Err(other)) => prop_assert!(once.is_data() || once.to_string() == other.to_string()),
            }
        }
    }

    #[test]
    fn refuses_repeated_names_at_any_depth() {
        for twice in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"b":2,"\u0061":3}"#,
            r#"[{"a":{"b":1,"b":null}}]"#,
            r#"{"a":{},"a":[}"#,
        ] {
            let error = from_slice::<UniqueKeys>(twice.as_bytes()).err().unwrap();
            assert!(error.is_data(), "{twice}: {error}");
        }
        assert!(from_slice::<UniqueKeys>(br#"[{"a":1},{"a":1},{"A":{"a":1}}]"#).is_ok());
    }
}
