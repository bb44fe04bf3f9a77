use proptest::prelude::*;

use super::*;

/// All commands, fed in pieces of those lengths, and what ended it.
fn fed(bytes: &[u8], pieces: impl IntoIterator<Item = usize>) -> (Vec<Vec<Vec<u8>>>, Option<ProtocolError>) {
    let (mut decoder, mut held, mut commands) = (Decoder::default(), Vec::new(), Vec::new());
    let (mut rest, mut pieces) = (bytes, pieces.into_iter());
    while !rest.is_empty() {
        let length = pieces.next().unwrap_or(rest.len()).clamp(1, rest.len());
        let (piece, behind) = rest.split_at(length);
        held.extend_from_slice(piece);
        rest = behind;
        loop {
            match decoder.next(&held) {
                Ok(Some(words)) => commands.push(words.iter().map(<[u8]>::to_vec).collect()),
                Ok(None) => break,
                Err(wrong) => return (commands, Some(wrong)),
            }
            held.drain(..decoder.take());
        }
        held.drain(..decoder.take());
    }
    (commands, None)
}

fn whole(bytes: &[u8]) -> (Vec<Vec<Vec<u8>>>, Option<ProtocolError>) {
    fed(bytes, [])
}

fn wrong(bytes: &[u8]) -> Option<ProtocolError> {
    whole(bytes).1
}

fn words(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

fn array(words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

const MIXED: &[u8] =
    b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n\r\n*0\r\nPING  hello \r\n*-1\r\n*1\r\n$4\r\nPING\r\n\nQUIT\n";

#[test]
fn arrays_and_lines_are_commands_and_nothing_is_none() {
    let expected =
        [words(&["ECHO", ""]), words(&["PING", "hello"]), words(&["PING"]), words(&["QUIT"])].to_vec();
    assert_eq!(whole(MIXED), (expected, None));
}

#[test]
fn every_way_to_cut_gives_the_same_commands() {
    let expected = whole(MIXED);
    for first in 1..MIXED.len() {
        assert_eq!(fed(MIXED, [first]), expected, "cut at {first}");
        for second in 1..MIXED.len() - first {
            assert_eq!(fed(MIXED, [first, second]), expected, "cut at {first} and {second} later");
        }
    }
    assert_eq!(fed(MIXED, std::iter::repeat(1)), expected, "byte by byte");
}

#[test]
fn lengths_are_refused_when_they_are_claimed_and_not_when_they_have_come() {
    assert_eq!(wrong(b"*265\r\n"), Some(ProtocolError::Words));
    assert_eq!(wrong(b"*999999999999999999\r\n"), Some(ProtocolError::Words));
    assert_eq!(wrong(b"*1\r\n$65537\r\n"), Some(ProtocolError::WordLength));
    assert_eq!(wrong(b"*1\r\n$-1\r\n"), Some(ProtocolError::WordLength));
    assert_eq!(wrong(b"*9999999999999999999"), Some(ProtocolError::BadLength));
    let mut long = b"*20\r\n".to_vec();
    for _ in 0..15 {
        long.extend_from_slice(&array(&[vec![b'x'; MAX_WORD_BYTES]])[4..]);
    }
    assert_eq!(wrong(&long), None);
    long.extend_from_slice(b"$65536\r\n");
    assert_eq!(wrong(&long), Some(ProtocolError::CommandLength));
}

#[test]
fn the_largest_command_that_is_allowed_is_read() {
    let largest: Vec<Vec<u8>> = (0..MAX_WORDS).map(|_| vec![b'x'; 3900]).collect();
    assert_eq!(whole(&array(&largest)), (vec![largest], None));
}

#[test]
fn what_is_no_command_is_told_why() {
    for (bytes, expected) in [
        (b"*1\r\n:1\r\n".as_slice(), ProtocolError::NoLength),
        (b"*1\r\n$x\r\n", ProtocolError::BadLength),
        (b"*\r\n", ProtocolError::BadLength),
        (b"*-\r\n", ProtocolError::BadLength),
        (b"*1\n", ProtocolError::BadLength),
        (b"*1\r\r", ProtocolError::BadLength),
        (b"*1\r\n$+1\r\n", ProtocolError::BadLength),
        (b"*1\r\n$1\r\nxy\r\n", ProtocolError::WordEnd),
        (b"SET \"a b\"\r\n", ProtocolError::Quotes),
        (b"GET / HTTP/1.1\r\n", ProtocolError::Http),
        (b"post /v1/check HTTP/1.1\r\n", ProtocolError::Http),
    ] {
        assert_eq!(wrong(bytes), Some(expected), "{}", bytes.escape_ascii());
    }
    assert_eq!(wrong(&vec![b'x'; MAX_WORD_BYTES]), None, "it may still end");
    assert_eq!(wrong(&vec![b'x'; MAX_WORD_BYTES + 1]), Some(ProtocolError::WordLength));
    assert_eq!(wrong(format!("{}\n", "x ".repeat(MAX_WORDS + 1)).as_bytes()), Some(ProtocolError::Words));
}

#[test]
fn empty_commands_are_done_with_as_they_come() {
    let mut decoder = Decoder::default();
    assert!(decoder.next(b"\r\n*0\r\n\r\n").unwrap().is_none());
    assert_eq!(decoder.take(), 8);
    assert!(decoder.next(b"*1\r\n$4").unwrap().is_none());
    assert_eq!(decoder.take(), 0, "a command is under way");
}

#[test]
fn words_are_not_printed() {
    let mut decoder = Decoder::default();
    let words = decoder.next(b"AUTH hunter2\r\n").unwrap().unwrap();
    assert_eq!(format!("{words:?}"), "[4, 7]");
}

/// Bytes that often mean something here.
fn likely() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "*", "$", "\r\n", "\r", "\n", "-1", "0", "1", "2", "PING", " ", "\"", "65536"
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
        prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 1..5).prop_map(|words| array(&words)),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn whatever_is_written_as_arrays_is_read_however_it_is_cut(
        commands in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 1..8), 0..6),
        cuts in prop::collection::vec(1..40_usize, 0..40),
    ) {
        let bytes: Vec<u8> = commands.iter().flat_map(|words| array(words)).collect();
        prop_assert_eq!(fed(&bytes, cuts), (commands, None));
    }

    #[test]
    fn rubbish_is_read_alike_however_it_is_cut(
        bytes in likely(),
        cuts in prop::collection::vec(1..9_usize, 0..60),
    ) {
        prop_assert_eq!(fed(&bytes, cuts), whole(&bytes));
    }
}
