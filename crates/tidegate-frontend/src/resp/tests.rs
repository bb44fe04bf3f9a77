//! Sessions, talked to without a socket.

mod slow;
mod throttles;
mod checks;
mod trusting;
mod manners;
mod pipelines;

use tidegate_store::{Reference, Store};

use super::*;
use crate::door::tests::{Hands, door, wait};
use crate::door::{Door, DoorSettings};

const RULES: &str = "
domain: api
rules:
  - { name: per-user, by: [user], limit: 2/min }
  - { name: watched, by: [user], limit: 1/min, mode: shadow }
  - { name: slots, match: { path: /export }, by: [user], limit: 1 concurrent }
  - { name: bots, match: { agent: bot }, action: block }
";

fn service() -> (Service<Reference>, Hands) {
    let (door, hands) = door(RULES);
    (Service::new(door, None), hands)
}

/// Puts bytes in and takes out what is answered at once, until there is nothing more to do.
fn say<S: Store>(session: &mut Session<'_, S>, mut bytes: &[u8]) -> (String, Next) {
    let mut said = Vec::new();
    loop {
        let room = session.room().expect("there is room");
        let length = (room.capacity() - room.len()).min(bytes.len());
        room.extend_from_slice(&bytes[..length]);
        bytes = &bytes[length..];
        let next = loop {
            let next = wait(session.answer());
            said.extend_from_slice(session.replies());
            session.sent();
            if next != Next::Answer {
                break next;
            }
        };
        if next == Next::Close || bytes.is_empty() {
            return (String::from_utf8(said).unwrap(), next);
        }
    }
}

/// What is answered to a line, in one line.
fn line<S: Store>(session: &mut Session<'_, S>, text: &str) -> String {
    let (said, _) = say(session, format!("{text}\r\n").as_bytes());
    said.trim_end().replace("\r\n", " ")
}

/// The same in a talk that has just begun.
fn asked<S: Store>(service: &Service<S>, text: &str) -> String {
    line(&mut service.session(), text)
}

/// Words as an array.
fn array(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
