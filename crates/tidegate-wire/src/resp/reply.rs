//! Replies as they go out, one behind the other: in RESP2, or in RESP3 for those who asked for it.

use crate::digits;

/// How replies are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Since Redis 1.2; what every client knows.
    #[default]
    Resp2,
    /// Since Redis 6: maps, nulls and texts are told apart.
    Resp3,
}

impl Protocol {
    /// Its number.
    pub const fn number(self) -> i64 {
        match self {
            Self::Resp2 => 2,
            Self::Resp3 => 3,
        }
    }
}

/// Replies of one connection that were not sent yet.
pub struct Replies {
    /// What is to be sent.
    pub bytes: Vec<u8>,
    /// How it is written.
    pub protocol: Protocol,
}

/// Replies may repeat what a client sent.
impl std::fmt::Debug for Replies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replies").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}

impl Replies {
    /// No replies yet.
    pub fn new(protocol: Protocol) -> Self {
        Self { bytes: Vec::new(), protocol }
    }

    /// A short text of our own, such as OK.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// What went wrong: a code in capitals, and words. They are ours: nothing in them ends the line.
    pub fn error(&mut self, code: &str, words: impl std::fmt::Display) {
        let mut text = format!("{code} {words}");
        text.retain(|letter| letter != '\r' && letter != '\n');
        self.line(b'-', text.as_bytes());
    }

    /// A whole number.
    pub fn integer(&mut self, number: i64) {
        if number < 0 {
            self.bytes.push(b':');
        }
        let kind = if number < 0 { b'-' } else { b':' };
        digits::write_line(&mut self.bytes, kind, number.unsigned_abs());
    }

    /// A number that nobody has so much of; what is more is told as the most.
    pub fn count(&mut self, number: u64) {
        self.integer(i64::try_from(number).unwrap_or(i64::MAX));
    }

    /// The same, or -1.
    pub fn count_or_none(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.count(number),
            None => self.integer(-1),
        }
    }

    /// Bytes of any kind.
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.length(b'$', bytes.len());
        self.line_end(bytes);
    }

    /// A text for people.
    pub fn text(&mut self, text: &str) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(text.as_bytes()),
            Protocol::Resp3 => {
                self.length(b'=', text.len() + 4);
                self.bytes.extend_from_slice(b"txt:");
                self.line_end(text.as_bytes());
            }
        }
    }

    /// Nothing.
    pub fn null(&mut self) {
        self.bytes.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// Bytes, or that there are none.
    pub fn bulk_or_null(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    /// So many replies follow, which are one.
    pub fn array(&mut self, length: usize) {
        self.length(b'*', length);
    }

    /// So many pairs of replies follow, which are one.
    pub fn map(&mut self, pairs: usize) {
        match self.protocol {
            Protocol::Resp2 => self.length(b'*', pairs * 2),
            Protocol::Resp3 => self.length(b'%', pairs),
        }
    }

    fn length(&mut self, kind: u8, length: usize) {
        digits::write_line(&mut self.bytes, kind, length as u64);
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.bytes.push(kind);
        self.line_end(text);
    }

    fn line_end(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(protocol: Protocol, write: impl Fn(&mut Replies)) -> String {
        let mut replies = Replies::new(protocol);
        write(&mut replies);
        String::from_utf8(replies.bytes).unwrap()
    }

    /// Written alike in both.
    fn check(write: impl Fn(&mut Replies), expected: &str) {
        for protocol in [Protocol::Resp2, Protocol::Resp3] {
            assert_eq!(written(protocol, &write), expected);
        }
    }

    #[test]
    fn what_both_have_is_written_alike() {
        check(|replies| replies.simple("OK"), "+OK\r\n");
        check(|replies| replies.error("ERR", "no such thing"), "-ERR no such thing\r\n");
        check(|replies| replies.bulk(b"a\r\nb"), "$4\r\na\r\nb\r\n");
        check(|replies| replies.bulk(b""), "$0\r\n\r\n");
        check(|replies| replies.array(0), "*0\r\n");
        check(|replies| replies.array(12), "*12\r\n");
        for number in [0, 9, 10, -1, i64::MAX, i64::MIN] {
            check(|replies| replies.integer(number), &format!(":{number}\r\n"));
        }
        check(|replies| replies.count(u64::MAX), &format!(":{}\r\n", i64::MAX));
    }

    #[test]
    fn what_only_one_has_is_written_as_each_does() {
        let both =
            |write: fn(&mut Replies)| [Protocol::Resp2, Protocol::Resp3].map(|one| written(one, write));
        assert_eq!(both(Replies::null), ["$-1\r\n", "_\r\n"]);
        assert_eq!(both(|replies| replies.map(2)), ["*4\r\n", "%2\r\n"]);
        assert_eq!(both(|replies| replies.text("why")), ["$3\r\nwhy\r\n", "=7\r\ntxt:why\r\n"]);
    }

    #[test]
    fn an_error_is_one_line() {
        check(|replies| replies.error("ERR", "a\r\n+OK\r\nb"), "-ERR a+OKb\r\n");
    }
}
