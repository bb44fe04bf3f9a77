//! A list of structured fields (RFC 9651), written as it comes: every answer has two of them.

use crate::digits;

/// The most that an integer can be: fifteen digits.
pub(super) const MOST: u64 = 999_999_999_999_999;

/// A list whose members are strings or integers with parameters. Texts are printable ASCII.
#[derive(Debug)]
pub(super) struct List<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> List<'o> {
    /// A list that is written behind what is there.
    pub(super) const fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, is_empty: true }
    }

    /// Another member: a string.
    pub(super) fn string(&mut self, text: &str) -> &mut Self {
        self.member();
        self.quoted(text);
        self
    }

    /// Another member: an integer, or the nearest one that there is.
    pub(super) fn integer(&mut self, number: u64) -> &mut Self {
        self.member();
        digits::write(self.out, number.min(MOST));
        self
    }

    /// A parameter of the last member, whose name is one letter.
    pub(super) fn number(&mut self, key: u8, number: u64) -> &mut Self {
        digits::write_parameter(self.out, key, number.min(MOST));
        self
    }

    /// The same as a string.
    pub(super) fn text(&mut self, key: &str, text: &str) -> &mut Self {
        self.key(key);
        self.quoted(text);
        self
    }

    /// The same as bytes.
    pub(super) fn bytes(&mut self, key: &str, bytes: &[u8]) -> &mut Self {
        self.key(key);
        // Rare enough to leave its coding to whoever knows it.
        self.out.extend_from_slice(sfv::ItemSerializer::new().bare_item(bytes).finish().as_bytes());
        self
    }

    fn member(&mut self) {
        if !self.is_empty {
            self.out.extend_from_slice(b", ");
        }
        self.is_empty = false;
    }

    fn key(&mut self, key: &str) {
        self.out.push(b';');
        self.out.extend_from_slice(key.as_bytes());
        self.out.push(b'=');
    }

    fn quoted(&mut self, text: &str) {
        self.out.push(b'"');
        if text.bytes().any(|byte| matches!(byte, b'"' | b'\\')) {
            for byte in text.bytes() {
                if matches!(byte, b'"' | b'\\') {
                    self.out.push(b'\\');
                }
                self.out.push(byte);
            }
        } else {
            self.out.extend_from_slice(text.as_bytes());
        }
        self.out.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sfv::{BareItem, List as Read, ListEntry, Parser};

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_as_it_was_meant(
            members in prop::collection::vec(("[ -~]{0,20}", any::<u64>(), prop::collection::vec(any::<u8>(), 0..9)), 0..4),
        ) {
            let mut written = Vec::new();
            let mut list = List::new(&mut written);
            for (text, number, bytes) in &members {
                list.string(text).number(b'r', *number).text("qu", text).bytes("pk", bytes);
                list.integer(*number);
            }
            let read: Read = Parser::new(&written).parse().unwrap();
            prop_assert_eq!(read.len(), members.len() * 2);
            for ((text, number, bytes), entries) in members.iter().zip(read.chunks(2)) {
                let [ListEntry::Item(string), ListEntry::Item(integer)] = entries else { panic!("two items") };
                let nearest = BareItem::Integer(i64::try_from(*number).unwrap_or(i64::MAX).min(999_999_999_999_999).try_into().unwrap());
                prop_assert_eq!(string.bare_item.as_string().unwrap().as_str(), text);
                prop_assert_eq!(string.params.get("r"), Some(&nearest));
                prop_assert_eq!(string.params.get("qu").unwrap().as_string().unwrap().as_str(), text);
                prop_assert_eq!(string.params.get("pk").unwrap().as_byte_sequence().unwrap(), bytes);
                prop_assert_eq!(&integer.bare_item, &nearest);
            }
        }
    }
}
