//! Peers that are trusted, as the file has them: a network, or what must be shown and what it is good for.

use tidegate_rules::Diagnostics;
use tidegate_rules::shape::{Field, Object, Shape};
use tidegate_rules::yaml::{Node, Value};

use super::file::{Misplaced, read_value, said};
use super::value::{self, Wrong};
use super::{Shown, Trust, TrustedPeer};

const fn key(name: &'static str, doc: &'static str) -> Field {
    Field { name, shape: Shape::OneOrMore(&Shape::Text), doc }
}

static PEER: Object = Object {
    name: "a peer",
    doc: "Somebody whose word counts; everything that is asked for must be shown.",
    keys: &[
        key("from", "The networks that it comes from."),
        Field { name: "token_file", shape: Shape::Text, doc: "The file of a token that it knows." },
        Field {
            name: "certificate",
            shape: Shape::Text,
            doc: "A name in its certificate, or sha256: and the hash of it.",
        },
        key("attributes", "What it may state; all guarded attributes if none are named."),
        key("doors", "Where it may; everywhere if none are named."),
    ],
};

/// The form of `trust.peers`.
pub(super) const PEERS: Shape = Shape::OneOrMore(&Shape::Either(&[Shape::Text, Shape::Object(&PEER)]));

/// Sets the peers of the file, if any of them is more than a network.
pub(super) fn read(node: &Node, trust: &mut Trust, diagnostics: &mut Diagnostics) {
    let items = match &node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    if !items.iter().any(|item| matches!(item.value, Value::Map(_))) {
        return;
    }
    for item in items {
        match peer(item) {
            Ok(peer) => trust.peers.push(peer),
            Err(wrong) => {
                let all = wrong.iter().map(|(node, message)| said("trust.peers", node, message));
                all.for_each(|one| diagnostics.push(one));
            }
        }
    }
}

fn peer(node: &Node) -> Result<TrustedPeer, Vec<Misplaced<'_>>> {
    if let Some(text) = node.text() {
        let networks = value::networks(&text).map_err(|message| vec![(node, message)])?;
        return Ok(TrustedPeer::in_networks(networks));
    }
    let mut wrong = Vec::new();
    let peer = TrustedPeer {
        networks: part(node, "from", value::networks, &mut wrong),
        token_file: part(node, "token_file", value::path, &mut wrong).flatten(),
        certificate: part(node, "certificate", certificate, &mut wrong),
        attributes: part(node, "attributes", value::names, &mut wrong),
        doors: part(node, "doors", |text| value::doors(text, &TrustedPeer::DOORS), &mut wrong),
    };
    let is_known = ["from", "token_file", "certificate"].iter().any(|key| node.get(key).is_some());
    if !is_known {
        wrong.push((node, "say how it is known: by from, token_file or certificate".to_owned()));
    }
    if wrong.is_empty() { Ok(peer) } else { Err(wrong) }
}

fn part<'n, T>(
    node: &'n Node,
    key: &str,
    read: impl Fn(&str) -> Result<T, Wrong>,
    wrong: &mut Vec<Misplaced<'n>>,
) -> Option<T> {
    read_value(node.get(key)?, read).unwrap_or_else(|misread| {
        wrong.extend(misread.into_iter().map(|(node, message)| (node, format!("{key}: {message}"))));
        None
    })
}

/// A name, or `sha256:` and 64 hexadecimal digits, with or without colons between.
fn certificate(text: &str) -> Result<Shown, Wrong> {
    let Some(digits) = text.strip_prefix("sha256:") else {
        let is_name = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        return if is_name { Ok(Shown::Name(text.to_owned())) } else { Err(WRITE.to_owned()) };
    };
    let digits: String = digits.chars().filter(|digit| *digit != ':').collect();
    let byte = |index: usize| u8::from_str_radix(digits.get(2 * index..2 * index + 2)?, 16).ok();
    let is_hash = digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let bytes: Option<Vec<u8>> = (0..32).map(byte).collect();
    let hash = bytes.filter(|_| is_hash).and_then(|bytes| bytes.try_into().ok());
    hash.map(Shown::Fingerprint).ok_or_else(|| WRITE.to_owned())
}

const WRITE: &str = "write a name of the certificate, such as edge.example, or sha256: and its 64 hexadecimal digits, as \
    openssl x509 -noout -fingerprint -sha256 prints them";
