//! The Redis protocol: however bytes are cut up, they are the same commands and have the same replies.
//!
//! The first byte says how they are cut, the second how the door is set up; what follows is what a client sends.

mod replies;

use tidegate_frontend::resp::{Next, Password, Service, Session};
use tidegate_store::Reference;
use tidegate_wire::resp::{Decoder, ProtocolError};
use tidegate_wire::trust::Peer;

use crate::pieces::Pieces;
use crate::world::{self, wait};

type Read = (Vec<Vec<Vec<u8>>>, Option<ProtocolError>);

pub(crate) fn run(bytes: &[u8]) {
    let mut pieces = Pieces::new(bytes);
    let (step, how) = (pieces.byte(), pieces.byte());
    let sent = pieces.rest();
    decoded_alike(sent, step);
    answered_alike(sent, step, how);
}

fn decoded_alike(sent: &[u8], step: u8) {
    let whole = read(sent, &[sent.len()]);
    assert_eq!(whole, read(sent, &cuts(step)), "cut up, it is something else");
    assert_eq!(whole, read(sent, &[1]), "byte by byte, it is something else");
    let (commands, _) = whole;
    let written: Vec<u8> = commands.iter().flat_map(|words| array(words)).collect();
    assert_eq!(read(&written, &cuts(step)), (commands, None), "written again, it is something else");
}

/// Lengths of pieces, over and over.
fn cuts(step: u8) -> [usize; 3] {
    let step = usize::from(step);
    [1 + step % 7, 1 + step / 7, 1 + step % 5]
}

/// What is read of bytes that come in pieces of these lengths.
fn read(sent: &[u8], lengths: &[usize]) -> Read {
    let (mut decoder, mut commands, mut begin, mut came) = (Decoder::default(), Vec::new(), 0, 0);
    for length in lengths.iter().cycle() {
        came = (came + length).min(sent.len());
        loop {
            match decoder.next(&sent[begin..came]) {
                Ok(Some(words)) => commands.push(words.iter().map(<[u8]>::to_vec).collect()),
                Ok(None) => break,
                Err(wrong) => return (commands, Some(wrong)),
            }
            begin += decoder.take();
        }
        begin += decoder.take();
        if came == sent.len() {
            break;
        }
    }
    (commands, None)
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

fn answered_alike(sent: &[u8], step: u8, how: u8) {
    let (whole, cut) = (talk(sent, &[4096], how), talk(sent, &cuts(step), how));
    assert_eq!(whole.1, cut.1, "cut up, the talk ends otherwise");
    let (whole, cut) = (replies::read(&whole.0), replies::read(&cut.0));
    assert_eq!(whole, cut, "cut up, it is answered otherwise");
}

/// All replies to what comes in pieces of these lengths, and what is to be done then.
fn talk(sent: &[u8], lengths: &[usize], how: u8) -> (Vec<u8>, Next) {
    let door = world::door();
    let password = (how & 1 == 1).then(|| Password::new(b"pw"));
    let service = Service::new(door.clone(), password);
    let peer = (how & 2 == 2).then(|| Peer::at(([10, 0, 0, 1], 1).into()));
    let mut session = service.session_from(peer);
    let (mut said, mut next, mut rest) = (Vec::new(), Next::Read, sent);
    for length in lengths.iter().cycle() {
        let (piece, behind) = rest.split_at((*length).min(rest.len()));
        rest = behind;
        next = answered(&mut session, piece, &mut said);
        if next == Next::Close || rest.is_empty() {
            break;
        }
    }
    drop(session);
    world::is_at_rest(&door, &[]);
    (said, next)
}

/// Puts bytes in and takes out what is answered.
fn answered(session: &mut Session<'_, Reference>, piece: &[u8], said: &mut Vec<u8>) -> Next {
    session.room().expect("nobody else needs room").extend_from_slice(piece);
    loop {
        let next = wait(session.answer());
        said.extend_from_slice(session.replies());
        session.sent();
        if next != Next::Answer {
            return next;
        }
    }
}
