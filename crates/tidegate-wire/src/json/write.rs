//! Values of JSON, appended to bytes: what a general serializer would write, which writes the texts that need escapes.

use crate::digits;

/// A text.
pub fn text(out: &mut Vec<u8>, value: &str) {
    if value.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        word(out, value.as_bytes());
    } else {
        out.extend_from_slice(serde_json::Value::from(value).to_string().as_bytes());
    }
}

/// A text that needs no escapes.
pub fn word(out: &mut Vec<u8>, word: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(word);
    out.push(b'"');
}

/// A whole number.
pub fn number(out: &mut Vec<u8>, value: u64) {
    digits::write(out, value);
}

/// A whole number, or null.
pub fn number_or_null(out: &mut Vec<u8>, value: Option<u64>) {
    match value {
        Some(value) => number(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

/// A truth value.
pub fn truth(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// A list of values.
pub fn list<T>(out: &mut Vec<u8>, values: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, value);
    }
    out.push(b']');
}
