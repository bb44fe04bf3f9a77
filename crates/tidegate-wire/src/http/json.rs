//! JSON of answers, written as it comes: names and what stands between them as they are, values by these. What is written is what a
//! general serializer would write, and texts that are not plain are left to it.

use crate::digits;

pub(super) fn text(out: &mut Vec<u8>, value: &str) {
    if value.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        word(out, value.as_bytes());
    } else {
        serde_json::to_writer(out, value).expect("a text is always JSON, and memory takes it");
    }
}

/// A text that is known to be plain.
pub(super) fn word(out: &mut Vec<u8>, word: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(word);
    out.push(b'"');
}

pub(super) fn number(out: &mut Vec<u8>, value: u64) {
    digits::write(out, value);
}

pub(super) fn number_or_null(out: &mut Vec<u8>, value: Option<u64>) {
    match value {
        Some(value) => number(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

pub(super) fn truth(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

pub(super) fn list<T>(out: &mut Vec<u8>, values: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, value);
    }
    out.push(b']');
}
