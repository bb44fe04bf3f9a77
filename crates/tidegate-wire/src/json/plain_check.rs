//! A plain check, `{"domain", "attributes", "cost"}` whose texts have no escapes: nearly all callers send one, and it is read
//! without a copy. Everything else is read as a tree of JSON, which has words for what is wrong.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use smallvec::SmallVec;

/// A check with more attributes is not plain.
const MOST: usize = 16;

/// Few have more than six.
type Pairs<'b> = SmallVec<[(&'b str, &'b str); 6]>;

/// A plain check. It has no `Debug`: values may be secret.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlainCheck<'b> {
    /// The domain.
    pub domain: &'b str,
    /// Names and values, each name once.
    #[serde(borrow, default, deserialize_with = "pairs")]
    pub attributes: Pairs<'b>,
    /// The cost, 1 by default.
    #[serde(default = "one")]
    pub cost: u64,
}

impl<'b> PlainCheck<'b> {
    /// The check, if it is a plain one.
    pub fn read(body: &'b [u8]) -> Option<Self> {
        // serde would take a list of values in their order as well, which is a batch.
        let is_object = body.trim_ascii_start().starts_with(b"{");
        is_object.then(|| serde_json::from_slice(body).ok()).flatten()
    }
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
            // The other reader has words for a name that is there twice.
            if pairs.len() == MOST || pairs.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom("not plain"));
            }
            pairs.push((name, value));
        }
        Ok(pairs)
    }
}
