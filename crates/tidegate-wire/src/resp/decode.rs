//! Commands as they come: arrays of bulk strings, or a line of words. What was looked at once is not looked at again, however the
//! bytes are cut up; and nothing is kept for a length that somebody only claims.

mod header;
#[cfg(test)]
mod tests;

use header::Header;

/// The most words of a command: a check with as many attributes as there may be, and its cost.
pub const MAX_WORDS: usize = 264;
/// The longest word, and the longest line of words.
pub const MAX_WORD_BYTES: usize = 64 << 10;
/// The longest command, with all that stands around its words.
pub const MAX_COMMAND_BYTES: usize = 1 << 20;

/// What a line begins with if it is not for us but HTTP: a browser, or somebody who makes one talk to us.
const HTTP: [&[u8]; 7] = [b"GET", b"POST", b"PUT", b"HEAD", b"DELETE", b"OPTIONS", b"Host:"];

/// Reads commands, one after another.
///
/// ```
/// use tidegate_wire::resp::Decoder;
///
/// let mut decoder = Decoder::default();
/// assert!(decoder.next(b"*2\r\n$4\r\nECHO\r\n$2\r\nh")?.is_none());
/// let words = decoder.next(b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nPING\r\n")?.expect("the first is whole");
/// assert_eq!(words.iter().collect::<Vec<_>>(), [b"ECHO".as_slice(), b"hi"]);
/// assert_eq!(decoder.take(), 22);
/// let words = decoder.next(b"PING\r\n")?.expect("the second too");
/// assert_eq!(words.get(0), Some(b"PING".as_slice()));
/// # Ok::<(), tidegate_wire::resp::ProtocolError>(())
/// ```
#[derive(Debug, Default)]
pub struct Decoder {
    /// How many of the bytes were looked at.
    at: usize,
    /// Where the command under way begins.
    begin: usize,
    stage: Stage,
    /// Where the words of the command under way begin and end.
    spans: Vec<(u32, u32)>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// A command.
    #[default]
    Command,
    /// The rest of a line of words.
    Line,
    /// The length of a word, and so many words with it.
    Length { words: usize },
    /// A word of that length, and so many words behind it.
    Word { bytes: usize, words: usize },
    /// Nothing: there is a whole command.
    Done,
}

/// The words of a command.
#[derive(Clone, Copy)]
pub struct Words<'d, 'b> {
    spans: &'d [(u32, u32)],
    bytes: &'b [u8],
}

/// Bytes that are no command. Nobody knows where the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A number of words that cannot be.
    #[error("a command has at most {MAX_WORDS} words")]
    Words,
    /// A length of a word that cannot be.
    #[error("a word has at most {MAX_WORD_BYTES} bytes")]
    WordLength,
    /// A command that is too long as a whole.
    #[error("a command has at most {MAX_COMMAND_BYTES} bytes")]
    CommandLength,
    /// Something else than a length.
    #[error("expected '$' and a length")]
    NoLength,
    /// A length that is no number, or does not end.
    #[error("a length is a whole number and ends with a carriage return and a line feed")]
    BadLength,
    /// A word that goes on.
    #[error("a word ends with a carriage return and a line feed")]
    WordEnd,
    /// A line with quotes.
    #[error("words of a line are divided by spaces and have no quotes; send an array instead")]
    Quotes,
    /// A request of another protocol.
    #[error("this is the Redis protocol, not HTTP")]
    Http,
}

impl Decoder {
    /// The next command, if it is whole; the bytes are those from its beginning on, and when it was not there yet, more of them.
    pub fn next<'d, 'b>(&'d mut self, bytes: &'b [u8]) -> Result<Option<Words<'d, 'b>>, ProtocolError> {
        if self.stage == Stage::Command {
            self.short(bytes);
        }
        while self.stage != Stage::Done {
            if !self.step(bytes)? {
                return Ok(None);
            }
        }
        Ok(Some(Words { spans: &self.spans, bytes }))
    }

    /// Takes a command of few and short words if all of it is there, which is so of nearly all. Of others nothing is taken.
    fn short(&mut self, bytes: &[u8]) {
        let Some((words @ 1.., mut at)) = header::short(bytes, self.at, b'*') else { return };
        for _ in 0..words {
            let Some((length, start)) = header::short(bytes, at, b'$') else { return self.spans.clear() };
            let end = start + length;
            if bytes.get(end..end + 2) != Some(b"\r\n") {
                return self.spans.clear();
            }
            self.push(start, end);
            at = end + 2;
        }
        (self.begin, self.at, self.stage) = (self.at, at, Stage::Done);
    }

    /// How many bytes are done with: those of the command that was given, or what led to none. The next ones begin behind them.
    pub fn take(&mut self) -> usize {
        if !self.is_between() && self.stage != Stage::Done {
            return 0;
        }
        self.spans.clear();
        self.stage = Stage::Command;
        std::mem::take(&mut self.at)
    }

    /// Whether no command has begun.
    pub fn is_between(&self) -> bool {
        self.stage == Stage::Command
    }

    /// Goes on by one part; `false` if its end is not there.
    fn step(&mut self, bytes: &[u8]) -> Result<bool, ProtocolError> {
        match self.stage {
            Stage::Command => self.command(bytes),
            Stage::Line => self.line(bytes),
            Stage::Length { words } => self.length(bytes, words),
            Stage::Word { bytes: length, words } => self.word(bytes, length, words),
            Stage::Done => Ok(true),
        }
    }

    fn command(&mut self, bytes: &[u8]) -> Result<bool, ProtocolError> {
        self.begin = self.at;
        match bytes.get(self.at) {
            None => return Ok(false),
            Some(b'*') => {}
            Some(_) => {
                self.stage = Stage::Line;
                return Ok(true);
            }
        }
        let Some(Header { number, end }) = header::read(bytes, self.at + 1)? else { return Ok(false) };
        let words = usize::try_from(number.max(0)).unwrap_or(usize::MAX);
        if words > MAX_WORDS {
            return Err(ProtocolError::Words);
        }
        self.at = end;
        // One without words is none, and is not answered.
        if words > 0 {
            self.stage = Stage::Length { words };
        }
        Ok(true)
    }

    fn length(&mut self, bytes: &[u8], words: usize) -> Result<bool, ProtocolError> {
        match bytes.get(self.at) {
            None => return Ok(false),
            Some(b'$') => {}
            Some(_) => return Err(ProtocolError::NoLength),
        }
        let Some(Header { number, end }) = header::read(bytes, self.at + 1)? else { return Ok(false) };
        let length = usize::try_from(number).ok().filter(|length| *length <= MAX_WORD_BYTES);
        let length = length.ok_or(ProtocolError::WordLength)?;
        if end + length + 2 - self.begin > MAX_COMMAND_BYTES {
            return Err(ProtocolError::CommandLength);
        }
        self.at = end;
        self.stage = Stage::Word { bytes: length, words: words - 1 };
        self.word(bytes, length, words - 1)
    }

    fn word(&mut self, bytes: &[u8], length: usize, words: usize) -> Result<bool, ProtocolError> {
        let end = self.at + length;
        match bytes.get(end..end + 2) {
            None => return Ok(false),
            Some(b"\r\n") => {}
            Some(_) => return Err(ProtocolError::WordEnd),
        }
        self.push(self.at, end);
        self.at = end + 2;
        self.stage = if words > 0 { Stage::Length { words } } else { Stage::Done };
        Ok(true)
    }

    fn line(&mut self, bytes: &[u8]) -> Result<bool, ProtocolError> {
        let new = bytes.get(self.at..).unwrap_or_default();
        let found = new.iter().position(|byte| *byte == b'\n');
        self.at += found.map_or(new.len(), |place| place + 1);
        if self.at - self.begin > MAX_WORD_BYTES {
            return Err(ProtocolError::WordLength);
        }
        if found.is_some() {
            self.divide(bytes)?;
            self.stage = if self.spans.is_empty() { Stage::Command } else { Stage::Done };
        }
        Ok(found.is_some())
    }

    /// The words of a line that ends where we are.
    fn divide(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        let line = &bytes[self.begin..self.at];
        if line.iter().any(|byte| matches!(byte, b'"' | b'\'')) {
            return Err(ProtocolError::Quotes);
        }
        let mut place = self.begin;
        for word in line.split(u8::is_ascii_whitespace) {
            if !word.is_empty() {
                self.push(place, place + word.len());
            }
            place += word.len() + 1;
        }
        if self.spans.len() > MAX_WORDS {
            return Err(ProtocolError::Words);
        }
        let words = Words { spans: &self.spans, bytes };
        if words.get(0).is_some_and(|word| HTTP.iter().any(|http| word.eq_ignore_ascii_case(http))) {
            return Err(ProtocolError::Http);
        }
        Ok(())
    }

    fn push(&mut self, start: usize, end: usize) {
        let place = |place| u32::try_from(place).expect("commands are bounded far below 2^32");
        self.spans.push((place(start), place(end)));
    }
}

impl<'b> Words<'_, 'b> {
    /// The word at that place.
    pub fn get(&self, place: usize) -> Option<&'b [u8]> {
        let (start, end) = *self.spans.get(place)?;
        self.bytes.get(start as usize..end as usize)
    }

    /// All bytes from the beginning of one word to the end of another, with what stands between them.
    pub fn stretch(&self, first: usize, last: usize) -> Option<&'b [u8]> {
        let ((start, _), (_, end)) = (self.spans.get(first)?, self.spans.get(last)?);
        self.bytes.get(*start as usize..*end as usize)
    }

    /// How many there are; one at least.
    #[expect(clippy::len_without_is_empty, reason = "there are always some")]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &'b [u8]> {
        (0..self.len()).filter_map(|place| self.get(place))
    }
}

/// Words may be secret: their lengths are enough.
impl std::fmt::Debug for Words<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter().map(<[u8]>::len)).finish()
    }
}
