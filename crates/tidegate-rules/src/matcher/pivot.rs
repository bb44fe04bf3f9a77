//! What a rule can be filed under, and which of it a test offers.

use ipnet::IpNet;

use super::filed::Known;
use super::literal;
use crate::condition::{Test, unmapped};
use crate::glob::{Glob, Segment};
use crate::name::AttributeId;

/// Something that must be so of an attribute for a condition to hold.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Pivot {
    pub(super) attribute: AttributeId,
    pub(super) key: Key,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Value(Box<str>),
    Path(Path),
    Network(IpNet),
    Prefix(Box<str>),
    /// The value contains this somewhere, in whatever case; in lower case itself.
    Phrase(Box<str>),
    /// A regular expression without literal text, as written.
    Expression(Box<str>),
    Present,
    Absent,
}

/// The segments of a glob as far as its first `**`, and whether there is one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Path {
    pub(super) steps: Box<[Step]>,
    pub(super) open: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Literal(Box<str>),
    Any,
    /// Any that is not empty.
    Filled,
}

/// Keys under all of which a rule may be filed, with what each proves of the test.
pub(super) type Offer = (Vec<Key>, Known);

/// The ways in which a test can be filed.
pub(super) fn offers(test: &Test) -> Vec<Offer> {
    match test {
        Test::OneOf(values) => vec![(values.iter().cloned().map(Key::Value).collect(), Known::Whole)],
        Test::Prefix(prefix) => vec![(vec![Key::Prefix(prefix.clone())], Known::Whole)],
        Test::Glob(glob) => of_glob(glob),
        Test::Regex(regex) => of_regex(regex.as_str()),
        Test::Cidr(networks) => {
            let keys = networks.iter().map(|network| Key::Network(unmapped(network.trunc()))).collect();
            vec![(keys, Known::Whole)]
        }
        Test::Number(_) => vec![(vec![Key::Present], Known::Nothing)],
        Test::Present => vec![(vec![Key::Present], Known::Whole)],
        Test::Absent => vec![(vec![Key::Absent], Known::Whole)],
    }
}

fn of_glob(glob: &Glob) -> Vec<Offer> {
    if let Some(text) = glob.literal() {
        return vec![(vec![Key::Value(text.into())], Known::Whole)];
    }
    let segments = glob.segments();
    let closed = segments.iter().take_while(|segment| **segment != Segment::Rest);
    let steps: Box<[Step]> = closed.map(step).collect();
    let open = steps.len() < segments.len();
    let exact = steps.len() + usize::from(open) == segments.len() && segments.iter().all(is_told_by_its_step);
    let known = if exact { Known::Whole } else { Known::Nothing };
    let mut offers = vec![(vec![Key::Path(Path { steps, open })], known)];
    let phrase =
        segments.iter().flat_map(texts).max_by_key(|text| text.len()).filter(|text| !text.is_empty());
    offers
        .extend(phrase.map(|phrase| (vec![Key::Phrase(phrase.to_ascii_lowercase().into())], Known::Nothing)));
    offers
}

fn step(segment: &Segment) -> Step {
    match segment {
        Segment::Literal(text) => Step::Literal(text.clone()),
        Segment::Capture(_) => Step::Filled,
        Segment::Starred(_) | Segment::Rest => Step::Any,
    }
}

fn is_told_by_its_step(segment: &Segment) -> bool {
    !matches!(segment, Segment::Starred(pieces) if pieces.iter().any(|piece| !piece.is_empty()))
}

fn texts(segment: &Segment) -> &[Box<str>] {
    match segment {
        Segment::Literal(text) => std::slice::from_ref(text),
        Segment::Starred(pieces) => pieces,
        Segment::Capture(_) | Segment::Rest => &[],
    }
}

fn of_regex(pattern: &str) -> Vec<Offer> {
    let mut offers = Vec::new();
    if let Some(literals) = literal::of(pattern) {
        offers.extend(literals.prefix.map(|prefix| (vec![Key::Prefix(prefix)], Known::Nothing)));
        offers.extend(
            literals.phrases.map(|phrases| (phrases.into_iter().map(Key::Phrase).collect(), Known::Nothing)),
        );
    }
    offers.push((vec![Key::Expression(pattern.into())], Known::Whole));
    offers
}
