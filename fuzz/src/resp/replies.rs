//! Replies, read as a client would.

/// The deepest nesting that any reply has.
const MOST_DEPTH: usize = 4;

/// One reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Line(String),
    Number(i64),
    Bytes(Vec<u8>),
    Nothing,
    List(Vec<Self>),
}

/// All replies; they must be whole and nothing else. Ids, which are new in each talk, are all alike.
pub(super) fn read(mut bytes: &[u8]) -> Vec<Reply> {
    let mut replies = Vec::new();
    while !bytes.is_empty() {
        replies.push(one(&mut bytes, 0));
    }
    replies
}

fn one(bytes: &mut &[u8], depth: usize) -> Reply {
    assert!(depth <= MOST_DEPTH, "a reply is nested too deeply");
    let line = line(bytes);
    let (kind, text) = line.split_at_checked(1).expect("a line begins with its kind");
    let number = || text.parse::<i64>().expect("it is a number");
    match kind {
        "+" | "-" => Reply::Line(text.to_owned()),
        ":" => Reply::Number(number()),
        "_" => Reply::Nothing,
        "$" | "=" if number() < 0 => Reply::Nothing,
        "$" | "=" => Reply::Bytes(without_id(taken(bytes, number()))),
        "*" => list(bytes, number(), depth),
        "%" => list(bytes, number() * 2, depth),
        _ => panic!("{line:?} is no reply"),
    }
}

fn list(bytes: &mut &[u8], count: i64, depth: usize) -> Reply {
    Reply::List((0..count).map(|_| one(bytes, depth + 1)).collect())
}

/// Everything up to the end of the line.
fn line<'b>(bytes: &mut &'b [u8]) -> &'b str {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n").expect("a line ends");
    let line = std::str::from_utf8(&bytes[..end]).expect("what we say is text");
    *bytes = &bytes[end + 2..];
    line
}

fn taken<'b>(bytes: &mut &'b [u8], length: i64) -> &'b [u8] {
    let length = usize::try_from(length).expect("it is not negative");
    let (first, rest) = bytes.split_at_checked(length).expect("as many bytes follow");
    *bytes = rest.strip_prefix(b"\r\n").expect("they end with the line");
    first
}

fn without_id(bytes: &[u8]) -> Vec<u8> {
    let is_id = bytes.len() == 32 && bytes.iter().all(u8::is_ascii_hexdigit);
    if is_id { b"id".to_vec() } else { bytes.to_vec() }
}
