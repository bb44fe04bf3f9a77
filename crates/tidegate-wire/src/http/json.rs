//! JSON of answers, written as it comes. What is written is what a general serializer would: names are known to be plain, and texts that
//! are not are left to it.

use crate::digits;

/// An object that is being written.
pub(super) struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> Object<'o> {
    pub(super) fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_empty: true }
    }

    pub(super) fn text(&mut self, name: &'static str, value: &str) {
        self.name(name);
        text(value, self.out);
    }

    /// A number, or null.
    pub(super) fn number(&mut self, name: &'static str, value: Option<u64>) {
        self.name(name);
        match value {
            Some(number) => digits::write(self.out, number),
            None => self.out.extend_from_slice(b"null"),
        }
    }

    pub(super) fn truth(&mut self, name: &'static str, value: bool) {
        self.name(name);
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    pub(super) fn list<T>(&mut self, name: &'static str, values: &[T], write: impl Fn(&T, &mut Vec<u8>)) {
        self.name(name);
        self.out.push(b'[');
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            write(value, self.out);
        }
        self.out.push(b']');
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }

    fn name(&mut self, name: &'static str) {
        let before: &[u8] = if std::mem::take(&mut self.is_empty) { b"\"" } else { b",\"" };
        self.out.extend_from_slice(before);
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }
}

pub(super) fn text(value: &str, out: &mut Vec<u8>) {
    if value.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.push(b'"');
        out.extend_from_slice(value.as_bytes());
        out.push(b'"');
    } else {
        serde_json::to_writer(out, value).expect("a text is always JSON, and memory takes it");
    }
}
