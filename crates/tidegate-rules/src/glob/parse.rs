//! From the text of a glob to its segments.

use std::ops::Range;

use super::{Glob, GlobError, Segment};

pub(super) fn parse(text: &str) -> Result<Glob, GlobError> {
    let mut segments = Vec::new();
    let mut captures: Vec<Box<str>> = Vec::new();
    let mut start = 0;
    for word in text.split('/') {
        let at = start..start + word.len();
        start = at.end + 1;
        if segments.len() == Glob::MOST_SEGMENTS {
            return Err(said(format!("a glob has at most {} segments", Glob::MOST_SEGMENTS), at));
        }
        let segment = segment(word, &at, &mut captures)?;
        // Two in a row mean the same as one.
        if segment != Segment::Rest || segments.last() != Some(&Segment::Rest) {
            segments.push(segment);
        }
    }
    Ok(Glob { segments: segments.into(), captures: captures.into() })
}

fn segment(word: &str, at: &Range<usize>, captures: &mut Vec<Box<str>>) -> Result<Segment, GlobError> {
    if word == "**" {
        return Ok(Segment::Rest);
    }
    if let Some(two) = word.find("**") {
        let at = at.start + two..at.start + two + 2;
        return Err(said("`**` stands alone between slashes: write `*` here, or `/**/`".to_owned(), at));
    }
    if let Some(braces) = braces(word) {
        return capture(word, &braces, at, captures);
    }
    if let Some(half) = word.find(['{', '}']) {
        let at = at.start + half..at.start + half + 1;
        return Err(said("a brace without its other half: a capture is written `{id}`".to_owned(), at));
    }
    if !word.contains('*') {
        return Ok(Segment::Literal(word.into()));
    }
    Ok(Segment::Starred(word.split('*').map(Into::into).collect()))
}

fn capture(
    word: &str,
    braces: &Range<usize>,
    at: &Range<usize>,
    captures: &mut Vec<Box<str>>,
) -> Result<Segment, GlobError> {
    let within = at.start + braces.start..at.start + braces.end;
    if *braces != (0..word.len()) {
        return Err(said(
            "a capture is a whole segment: write `/{id}/`, or `*` for a part of one".to_owned(),
            within,
        ));
    }
    let name = &word[1..word.len() - 1];
    if !is_name(name) {
        let message = "a capture's name has letters, digits, `_` and `-`, and begins with a letter";
        return Err(said(message.to_owned(), within));
    }
    if captures.iter().any(|other| **other == *name) {
        return Err(said(format!("`{{{name}}}` is captured twice: give each its own name"), within));
    }
    captures.push(name.into());
    Ok(Segment::Capture(captures.len() - 1))
}

/// From the first `{` to the last `}` after it.
fn braces(word: &str) -> Option<Range<usize>> {
    let (open, close) = (word.find('{')?, word.rfind('}')?);
    (open < close).then_some(open..close + 1)
}

fn is_name(name: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    name.bytes().next().is_some_and(|first| first.is_ascii_alphabetic()) && name.bytes().all(part)
}

fn said(message: String, at: Range<usize>) -> GlobError {
    GlobError { message, at }
}
