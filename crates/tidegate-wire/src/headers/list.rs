//! A list of structured fields (RFC 9651), written as it comes: every answer has two of them.

use sfv::StringRef;

use crate::digits;

/// The most that an integer can be: fifteen digits.
pub(super) const MOST: u64 = 999_999_999_999_999;

/// Room for a few members.
const ROOM: usize = 96;

/// A list whose members are strings or integers with parameters.
#[derive(Debug, Default)]
pub(super) struct List(Vec<u8>);

impl List {
    /// Another member: a string.
    pub(super) fn string(&mut self, text: &StringRef) -> &mut Self {
        self.member();
        self.quoted(text);
        self
    }

    /// Another member: an integer, or the nearest one that there is.
    pub(super) fn integer(&mut self, number: u64) -> &mut Self {
        self.member();
        self.digits(number);
        self
    }

    /// A parameter of the last member.
    pub(super) fn number(&mut self, key: &str, number: u64) -> &mut Self {
        self.key(key);
        self.digits(number);
        self
    }

    /// The same as a string.
    pub(super) fn text(&mut self, key: &str, text: &StringRef) -> &mut Self {
        self.key(key);
        self.quoted(text);
        self
    }

    /// The same as bytes.
    pub(super) fn bytes(&mut self, key: &str, bytes: &[u8]) -> &mut Self {
        self.key(key);
        // Rare enough to leave its coding to whoever knows it.
        self.0.extend_from_slice(sfv::ItemSerializer::new().bare_item(bytes).finish().as_bytes());
        self
    }

    /// The list; `None` if it has no members.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        Some(self.0).filter(|written| !written.is_empty())
    }

    fn member(&mut self) {
        if self.0.is_empty() {
            self.0.reserve(ROOM);
        } else {
            self.0.extend_from_slice(b", ");
        }
    }

    fn key(&mut self, key: &str) {
        self.0.push(b';');
        self.0.extend_from_slice(key.as_bytes());
        self.0.push(b'=');
    }

    fn quoted(&mut self, text: &StringRef) {
        self.0.push(b'"');
        let text = text.as_str().as_bytes();
        if text.iter().any(|byte| matches!(byte, b'"' | b'\\')) {
            for byte in text {
                if matches!(byte, b'"' | b'\\') {
                    self.0.push(b'\\');
                }
                self.0.push(*byte);
            }
        } else {
            self.0.extend_from_slice(text);
        }
        self.0.push(b'"');
    }

    fn digits(&mut self, number: u64) {
        digits::write(&mut self.0, number.min(MOST));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sfv::{BareItem, List as Read, ListEntry, Parser, StringRef};

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_as_it_was_meant(
            members in prop::collection::vec(("[ -~]{0,20}", any::<u64>(), prop::collection::vec(any::<u8>(), 0..9)), 0..4),
        ) {
            let mut list = List::default();
            for (text, number, bytes) in &members {
                let text = StringRef::from_str(text).unwrap();
                list.string(text).number("r", *number).text("qu", text).bytes("pk", bytes);
                list.integer(*number);
            }
            let Some(written) = list.finish() else {
                prop_assert!(members.is_empty());
                return Ok(());
            };
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
