//! A plain check read where it lies: `{"domain", "attributes", "cost"}` whose texts have no escapes, which is what nearly all
//! callers send. Whatever else comes is nothing to be said about here: it is read the long way, which has words for what is wrong.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use smallvec::SmallVec;

/// More attributes than this are read the long way.
const MOST: usize = 16;

type Pairs<'b> = SmallVec<[(&'b str, &'b str); MOST]>;

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
    serde_json::from_slice(body).ok()
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
            // Of a name that is there twice the last value counts, and the long way knows that.
            if pairs.len() == MOST || pairs.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom("not plain"));
            }
            pairs.push((name, value));
        }
        Ok(pairs)
    }
}
