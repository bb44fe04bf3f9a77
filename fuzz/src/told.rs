//! What must hold of everything that callers are told, whichever door told it.

use http::HeaderMap;
use serde_json::Value;
use sfv::{BareItem, Item, List, ListEntry, Parser};

/// Every header is text that can be sent; those that are structured fields are read as such.
pub(crate) fn headers_are_sound(headers: &HeaderMap) {
    for (name, value) in headers {
        let bytes = value.as_bytes();
        assert!(
            bytes.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~')),
            "{name} is {}",
            bytes.escape_ascii()
        );
    }
    let _ = (members(headers, "ratelimit"), members(headers, "ratelimit-policy"));
    for name in ["retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
        let value = headers.get(name).map(|value| value.to_str().expect("it is ASCII"));
        assert!(value.is_none_or(|value| value.parse::<u64>().is_ok()), "{name} is {value:?}");
    }
    if let Some(value) = headers.get("x-ratelimit-denied-by") {
        let item = Parser::new(value.as_bytes()).parse::<Item>().expect("it is an item");
        assert!(matches!(item.params.get("rule"), Some(BareItem::String(_))), "{value:?}");
    }
}

/// One of the members of a list: its name, and its numbers.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    parameters: Vec<(String, BareItem)>,
}

impl Member {
    /// A parameter that is a whole number.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.get(name).map(|item| i64::from(item.as_integer().expect("it is a number")))
    }

    /// A parameter that is bytes.
    pub(crate) fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.get(name).map(|item| item.as_byte_sequence().expect("it is bytes"))
    }

    fn get(&self, name: &str) -> Option<&BareItem> {
        self.parameters.iter().find(|(own, _)| own == name).map(|(_, item)| item)
    }
}

/// The members of a list of names with parameters, over all lines of it.
pub(crate) fn members(headers: &HeaderMap, name: &str) -> Vec<Member> {
    headers.get_all(name).iter().flat_map(|line| list(line.as_bytes())).collect()
}

fn list(line: &[u8]) -> Vec<Member> {
    let list = Parser::new(line).parse::<List>().unwrap_or_else(|error| {
        panic!("{} is no list: {error}", line.escape_ascii());
    });
    let member = |entry: ListEntry| match entry {
        ListEntry::Item(Item { bare_item: BareItem::String(name), params }) => Member {
            name: name.as_str().to_owned(),
            parameters: params.into_iter().map(|(key, item)| (key.as_str().to_owned(), item)).collect(),
        },
        other => panic!("{other:?} is no name"),
    };
    list.into_iter().map(member).collect()
}

/// A problem says its status, and when to come back as the header does.
pub(crate) fn problem_is_sound(status: u16, headers: &HeaderMap, problem: &Value) {
    assert_eq!(problem["status"], status, "{problem}");
    assert!(problem["title"].is_string() && problem["type"].is_string(), "{problem}");
    let told = headers.get("retry-after").map(|value| value.to_str().expect("it is ASCII").to_owned());
    let said = problem.get("retry-after").map(ToString::to_string);
    assert_eq!(told, said, "{problem}");
}

/// Whether it is the word of a class where nobody could decide, which may only be for too many limits: see `world::is_at_rest`.
pub(crate) fn is_undecided(decision: &Value) -> bool {
    decision["status"] == 503 && decision["reason"] == "undecided"
}
