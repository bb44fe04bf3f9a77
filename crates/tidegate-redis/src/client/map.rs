//! Who has which keys, as it was last seen.

use std::sync::Arc;

use redis::Value;

use super::address::Place;
use super::node::Node;
use super::slots::{SLOTS, Slots};

/// Servers, and which of them has which slot.
#[derive(Default)]
pub(crate) struct Map {
    pub(crate) nodes: Vec<Arc<Node>>,
    /// For each slot the number of its server, or nothing for a single one.
    owners: Option<Box<[u16]>>,
}

/// The number of a server for a slot that nobody has.
const NOBODY: u16 = u16::MAX;

impl Map {
    /// One server for everything.
    pub(crate) fn single(node: Arc<Node>) -> Self {
        Self { nodes: vec![node], owners: None }
    }

    /// Masters and their slots; each place is made a server by `node`.
    pub(crate) fn of_ranges(ranges: &[Range], mut node: impl FnMut(&Place) -> Arc<Node>) -> Self {
        let mut nodes: Vec<Arc<Node>> = Vec::new();
        let mut owners = vec![NOBODY; usize::from(SLOTS)].into_boxed_slice();
        for range in ranges {
            let known = nodes.iter().position(|known| known.place == range.place);
            let index = known.unwrap_or_else(|| {
                nodes.push(node(&range.place));
                nodes.len() - 1
            });
            owners[range.first..=range.last].fill(u16::try_from(index).unwrap_or(NOBODY));
        }
        Self { nodes, owners: Some(owners) }
    }

    /// The server that has a slot.
    pub(crate) fn node_of(&self, slot: impl FnOnce() -> u16) -> Option<&Arc<Node>> {
        match &self.owners {
            None => self.nodes.first(),
            Some(owners) => self.nodes.get(usize::from(owners[usize::from(slot())])),
        }
    }

    /// Each server with its slots.
    pub(crate) fn parts(&self) -> Vec<(&Arc<Node>, Slots)> {
        let Some(owners) = &self.owners else {
            return self.nodes.iter().map(|node| (node, Slots::All)).collect();
        };
        let of = |index: usize| {
            let is_its_own = move |(slot, owner): (u16, &u16)| (usize::from(*owner) == index).then_some(slot);
            Slots::of((0..SLOTS).zip(owners).filter_map(is_its_own))
        };
        self.nodes.iter().enumerate().map(|(index, node)| (node, of(index))).collect()
    }

    /// The server at a place, if it is one of these.
    pub(crate) fn node_at(&self, place: &Place) -> Option<&Arc<Node>> {
        self.nodes.iter().find(|node| node.place == *place)
    }
}

/// Slots that follow each other and have the same master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    first: usize,
    last: usize,
    place: Place,
}

/// What `CLUSTER SLOTS` says. A master without a host is at the host that was asked.
pub(crate) fn ranges(answer: &Value, asked: &Place) -> Option<Vec<Range>> {
    let Value::Array(rows) = answer else { return None };
    rows.iter().map(|row| range(row, asked)).collect()
}

fn range(row: &Value, asked: &Place) -> Option<Range> {
    let Value::Array(parts) = row else { return None };
    let [Value::Int(first), Value::Int(last), Value::Array(master), ..] = parts.as_slice() else {
        return None;
    };
    let [host, Value::Int(port), ..] = master.as_slice() else { return None };
    let host = match host {
        Value::BulkString(name) if !name.is_empty() && name != b"?" => {
            String::from_utf8(name.clone()).ok()?
        }
        _ => asked.host.clone(),
    };
    let (first, last) = (usize::try_from(*first).ok()?, usize::try_from(*last).ok()?);
    let place = Place { host, port: u16::try_from(*port).ok()? };
    (first <= last && last < usize::from(SLOTS)).then_some(Range { first, last, place })
}

/// The place that `MOVED` and `ASK` name. Without a host it is at the host that answered.
pub(crate) fn place(text: &str, asked: &Place) -> Option<Place> {
    let (host, port) = text.rsplit_once(':')?;
    let host = if host.is_empty() || host == "?" { &asked.host } else { host };
    Some(Place { host: host.to_owned(), port: port.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use redis::Value;

    use super::{Place, place, ranges};

    fn asked() -> Place {
        Place { host: "seed".to_owned(), port: 1 }
    }

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn row(first: i64, last: i64, host: Value) -> Value {
        Value::Array(vec![
            Value::Int(first),
            Value::Int(last),
            Value::Array(vec![host, Value::Int(7000), text("id")]),
        ])
    }

    #[test]
    fn ranges_name_masters_and_a_missing_host_is_the_one_that_was_asked() {
        let answer =
            Value::Array(vec![row(0, 5, text("a")), row(6, 16_383, Value::Nil), row(9, 9, text(""))]);
        let places: Vec<String> =
            ranges(&answer, &asked()).unwrap().iter().map(|range| range.place.to_string()).collect();
        assert_eq!(places, ["a:7000", "seed:7000", "seed:7000"]);
    }

    #[test]
    fn nonsense_is_no_map() {
        for answer in
            [Value::Nil, Value::Array(vec![Value::Nil]), Value::Array(vec![row(5, 99_999, text("a"))])]
        {
            assert_eq!(ranges(&answer, &asked()), None);
        }
    }

    #[test]
    fn redirections_are_read_with_and_without_a_host() {
        assert_eq!(place("10.0.0.1:7001", &asked()).unwrap().to_string(), "10.0.0.1:7001");
        assert_eq!(place("::1:7001", &asked()).unwrap().to_string(), "[::1]:7001");
        assert_eq!(place(":7001", &asked()).unwrap().to_string(), "seed:7001");
        assert_eq!(place("nowhere", &asked()), None);
    }
}
