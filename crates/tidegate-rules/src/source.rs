//! Texts and places in them.

use std::ops::Range;

/// A text that somebody wrote, under the name by which they know it.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    name: String,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
}

/// A stretch of a text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The first byte after it.
    pub end: usize,
}

/// A place as people count: lines and columns from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Span {
    /// The stretch from `start` to before `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// A part of this stretch, counted from its start.
    #[must_use]
    pub const fn part(self, part: Range<usize>) -> Self {
        Self { start: self.start + part.start, end: self.start + part.end }
    }
}

/// The text may hold secrets: it shows its name and its length.
impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Source({}, {} bytes)", self.name, self.text.len())
    }
}

impl Source {
    /// A text under a name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { name: name.into(), text, lines }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same with stars in place of these stretches; every line and every column stays where it is.
    #[must_use]
    pub fn hiding(self, spans: &[Span]) -> Self {
        let mut text = self.text;
        for Span { start, end } in spans {
            let (start, end) = (text.floor_char_boundary(*start), text.floor_char_boundary(*end));
            if start < end {
                let hidden: String = text[start..end].chars().map(hidden).collect();
                text.replace_range(start..end, &hidden);
            }
        }
        Self { text, ..self }
    }

    /// The line of a byte, from 1.
    pub(crate) fn line_of(&self, byte: usize) -> usize {
        self.lines.partition_point(|start| *start <= byte)
    }

    /// The words of a stretch; fewer if it does not lie within the text.
    pub fn slice(&self, span: Span) -> &str {
        let clamp = |at: usize| self.text.floor_char_boundary(at);
        let start = clamp(span.start);
        &self.text[start..clamp(span.end).max(start)]
    }

    /// Where a byte stands.
    pub fn place(&self, byte: usize) -> Place {
        let byte = self.text.floor_char_boundary(byte);
        let line = self.lines.partition_point(|start| *start <= byte) - 1;
        Place { line: line + 1, column: self.text[self.lines[line]..byte].chars().count() + 1 }
    }

    /// A line, counted from 1, without its end; empty if there is none.
    pub fn line(&self, number: usize) -> &str {
        let Some(start) = number.checked_sub(1).and_then(|index| self.lines.get(index)) else { return "" };
        self.text[*start..].lines().next().unwrap_or("")
    }
}

/// A star, as many bytes long as the character, so that places stay what they are.
const fn hidden(character: char) -> char {
    match (character, character.len_utf8()) {
        ('\r' | '\n', _) => character,
        (_, 1) => '*',
        (_, 2) => '\u{b7}',
        (_, 3) => '\u{2217}',
        _ => '\u{1f7b6}',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_as_people_do() {
        let source = Source::new("a.yaml", "one\ntwö three\r\n\nend");
        let place = |byte| {
            let Place { line, column } = source.place(byte);
            (line, column)
        };
        assert_eq!([place(0), place(3), place(4)], [(1, 1), (1, 4), (2, 1)]);
        assert_eq!(place("one\ntwö ".len()), (2, 5), "a letter of two bytes is one column");
        assert_eq!(place(10_000), (4, 4), "beyond the end is the end");
        assert_eq!(
            [source.line(2), source.line(3), source.line(4), source.line(9)],
            ["twö three", "", "end", ""]
        );
    }

    #[test]
    fn no_span_is_out_of_bounds() {
        let source = Source::new("a.yaml", "ö");
        assert_eq!(source.slice(Span::new(0, 99)), "ö");
        assert_eq!(source.slice(Span::new(1, 1)), "");
        assert_eq!(source.slice(Span::new(7, 3)), "");
    }
}
