//! Globs over values with segments, such as paths: `/v1/orders/{id}`, `/static/**`, `*.example.com`.
//!
//! A value's segments are what stands between its slashes. In a glob, `*` is any run of characters within a segment, also
//! an empty one; `**`, alone in its segment, is any number of whole segments, also none (`/a/**` matches `/a`, `/a/` and
//! `/a/b/c`); `{id}`, alone in its segment, is one segment that is not empty, and captures it. All else means itself.
//!
//! Work is bounded by the length of the glob times the length of the value: a segment of the glob other than `**` takes
//! exactly one segment, so that only the last `**` ever has to be tried again, and pieces between `*` are found left to right.

mod parse;

use std::ops::Range;

/// A glob, ready to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    segments: Box<[Segment]>,
    captures: Box<[Box<str>]>,
}

/// What is wrong with a glob, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GlobError {
    /// What is wrong and what to write.
    pub message: String,
    /// The bytes of the text that it is about.
    pub at: Range<usize>,
}

/// One segment of a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Literal(Box<str>),
    /// What stands before, between and after the stars: two pieces or more.
    Starred(Box<[Box<str>]>),
    /// The capture with this place among the names.
    Capture(usize),
    /// Any number of segments.
    Rest,
}

/// As it was written.
impl std::fmt::Display for Glob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, segment) in self.segments.iter().enumerate() {
            if place > 0 {
                f.write_str("/")?;
            }
            match segment {
                Segment::Literal(text) => f.write_str(text)?,
                Segment::Starred(pieces) => f.write_str(&pieces.join("*"))?,
                Segment::Capture(name) => write!(f, "{{{}}}", self.captures[*name])?,
                Segment::Rest => f.write_str("**")?,
            }
        }
        Ok(())
    }
}

impl Glob {
    /// The most segments that a glob may have.
    pub const MOST_SEGMENTS: usize = 64;

    /// Reads a glob.
    ///
    /// ```
    /// use tidegate_rules::glob::Glob;
    /// let orders = Glob::parse("/v1/orders/{id}/**")?;
    /// assert!(orders.matches("/v1/orders/17/items/3") && !orders.matches("/v1/orders"));
    /// assert_eq!(orders.capture("/v1/orders/17/items/3", 0), Some("17"));
    /// # Ok::<(), tidegate_rules::glob::GlobError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, GlobError> {
        parse::parse(text)
    }

    /// Whether it matches one value only.
    pub fn is_literal(&self) -> bool {
        self.segments.iter().all(|segment| matches!(segment, Segment::Literal(_)))
    }

    /// The one value that it matches, if it is one.
    pub(crate) fn literal(&self) -> Option<String> {
        let texts = self.segments.iter().map(|segment| match segment {
            Segment::Literal(text) => Some(&**text),
            _ => None,
        });
        texts.collect::<Option<Vec<_>>>().map(|texts| texts.join("/"))
    }

    /// Whether it matches the whole of a value.
    pub fn matches(&self, value: &str) -> bool {
        self.walk(value, |_, _| {})
    }

    /// The names of the captures, from left to right.
    pub fn capture_names(&self) -> impl Iterator<Item = &str> {
        self.captures.iter().map(|name| &**name)
    }

    /// What a capture holds of a value, if the glob matches it. Where `**` leaves a choice, the leftmost that fits.
    pub fn capture<'v>(&self, value: &'v str, name_index: usize) -> Option<&'v str> {
        let mut held = None;
        let matches = self.walk(value, |capture, segment| {
            if capture == name_index {
                held = Some(segment);
            }
        });
        held.filter(|_| matches)
    }

    /// How many segments mean themselves: the more, the more specific.
    pub(crate) fn literal_segments(&self) -> usize {
        let literal = |segment: &&Segment| matches!(segment, Segment::Literal(text) if !text.is_empty());
        self.segments.iter().filter(literal).count()
    }

    /// The segments, in order.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Matches, and tells each capture's segment; the last told is the one that holds.
    fn walk<'v>(&self, value: &'v str, mut tell: impl FnMut(usize, &'v str)) -> bool {
        let (mut next, mut rest) = (0, Some(value));
        // Where to go on if what follows the last `**` does not fit: the glob's segment after it, and where it was tried.
        let mut retry = None;
        loop {
            let fits = match (self.segments.get(next), rest) {
                (None, None) => return true,
                (Some(Segment::Rest), _) => {
                    next += 1;
                    if next == self.segments.len() {
                        return true;
                    }
                    retry = rest.map(|rest| (next, rest));
                    continue;
                }
                // There are not enough segments, and further on there are fewer.
                (Some(_), None) => return false,
                (Some(segment), Some(value)) => {
                    let (first, after) = split(value);
                    rest = after;
                    segment.fits(first, &mut tell)
                }
                (None, Some(_)) => false,
            };
            next += 1;
            if !fits {
                let Some((segment, (_, Some(from)))) = retry.map(|(segment, from)| (segment, split(from)))
                else {
                    return false;
                };
                (next, rest, retry) = (segment, Some(from), Some((segment, from)));
            }
        }
    }
}

impl Segment {
    /// Whether it takes a segment of a value.
    fn fits<'v>(&self, segment: &'v str, tell: &mut impl FnMut(usize, &'v str)) -> bool {
        match self {
            Self::Literal(text) => **text == *segment,
            Self::Starred(pieces) => are_in_order(pieces, segment),
            Self::Capture(capture) => {
                tell(*capture, segment);
                !segment.is_empty()
            }
            Self::Rest => true,
        }
    }
}

/// The first segment, and what follows its slash if there is one.
pub(crate) fn split(value: &str) -> (&str, Option<&str>) {
    match value.bytes().position(|byte| byte == b'/') {
        Some(slash) => (&value[..slash], Some(&value[slash + 1..])),
        None => (value, None),
    }
}

/// The first piece at the start, the last at the end, the others between them, none over another.
fn are_in_order(pieces: &[Box<str>], segment: &str) -> bool {
    let [first, between @ .., last] = pieces else { return false };
    let Some(mut rest) = segment.strip_prefix(&**first).and_then(|rest| rest.strip_suffix(&**last)) else {
        return false;
    };
    between.iter().all(|piece| {
        let found = rest.find(&**piece);
        rest = found.map_or("", |at| &rest[at + piece.len()..]);
        found.is_some()
    })
}

#[cfg(test)]
mod tests;
