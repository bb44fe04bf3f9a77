use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::slow::Slow;
use super::*;
use crate::door::tests::door_to;

#[test]
fn ten_thousand_commands_at_once_are_answered_in_their_order() {
    let (service, _) = service();
    let commands: Vec<u8> = (0..10_000)
        .flat_map(|number| {
            let key = (number % 100).to_string();
            let mut both = array(&[b"CL.THROTTLE", key.as_bytes(), b"99", b"1", b"3600"]);
            both.extend_from_slice(&array(&[b"ECHO", number.to_string().as_bytes()]));
            both
        })
        .collect();
    let (said, next) = say(&mut service.session(), &commands);
    let reply = |number: u64| {
        let (text, left, reset) = (number.to_string(), 99 - number / 100, 3600 * (number / 100 + 1));
        let length = text.len();
        format!("*5\r\n:0\r\n:100\r\n:{left}\r\n:-1\r\n:{reset}\r\n${length}\r\n{text}\r\n")
    };
    let expected: String = (0..10_000).map(reply).collect();
    assert_eq!(next, Next::Read);
    assert!(said == expected, "replies are out of order");
}

#[test]
fn replies_that_wait_are_bounded() {
    let (service, _) = service();
    let mut session = service.session();
    session.room().unwrap().extend_from_slice(&b"INFO\r\n".repeat(600));
    let mut answers = 1;
    while wait(session.answer()) == Next::Answer {
        assert!(session.replies().len() < 20 << 10, "{}", session.replies().len());
        session.sent();
        answers += 1;
    }
    assert!(answers > 4, "{answers}");
}

#[test]
fn long_replies_share_what_there_is_for_them_and_nothing_is_kept_of_their_room() {
    let text = "x".repeat(60_000);
    let echo = array(&[b"ECHO", text.as_bytes()]);
    // Room for two of these commands with their replies, and for a third without.
    let settings = DoorSettings { max_bodies_bytes: 330 << 10, max_body_bytes: 1, ..DoorSettings::default() };
    let (door, _) = door_to(Reference::new(), RULES, settings);
    let service = Service::new(door.clone(), None);
    let mut sessions: Vec<_> = (0..3).map(|_| service.session()).collect();
    let hold = |session: &mut Session<'_, Reference>| {
        let mut rest = echo.as_slice();
        while !rest.is_empty() {
            let room = session.room().unwrap();
            let (next, later) = rest.split_at((room.capacity() - room.len()).min(rest.len()));
            room.extend_from_slice(next);
            rest = later;
        }
        (wait(session.answer()), session.replies().len())
    };
    assert_eq!(hold(&mut sessions[0]), (Next::Answer, text.len() + 10));
    assert_eq!(hold(&mut sessions[1]), (Next::Answer, text.len() + 10));
    let (next, _) = hold(&mut sessions[2]);
    assert_eq!(next, Next::Close);
    assert_eq!(sessions[2].replies(), b"-ERR too many long replies at once; try again in 1 s\r\n");
    for session in &mut sessions {
        session.sent();
        assert!(session.room().is_some());
        assert!(session.replies.bytes.capacity() <= 16 << 10);
    }
    assert_eq!(door.body_bytes(), 0);
}

#[test]
fn a_command_that_comes_byte_by_byte_is_answered_when_it_is_whole() {
    let (service, _) = service();
    let (mut session, command) = (service.session(), array(&[b"ECHO", b"hello"]));
    let (last, bytes) = command.split_last().unwrap();
    for byte in bytes {
        assert_eq!(say(&mut session, &[*byte]), (String::new(), Next::Read));
        assert!(!session.is_between());
    }
    assert_eq!(say(&mut session, &[*last]).0, "$5\r\nhello\r\n");
    assert!(session.is_between());
}

/// A talk with a store that is slow.
struct Talk {
    store: Arc<Door<Slow>>,
    service: Service<Slow>,
}

impl Talk {
    fn new() -> Self {
        let (door, _) = door_to(Slow::default(), RULES, DoorSettings::default());
        Self { store: Arc::new(door.clone()), service: Service::new(door, None) }
    }

    fn slow(&self) -> &Slow {
        self.store.engine().store()
    }
}

fn is_pending(future: &mut std::pin::Pin<&mut impl Future<Output = Next>>) -> bool {
    matches!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
}

#[test]
fn a_store_that_is_slow_is_asked_several_things_at_a_time_and_replies_keep_their_order() {
    let talk = Talk::new();
    let (slow, mut session) = (talk.slow(), talk.service.session());
    let commands = b"CL.THROTTLE a 9 1 60\r\nCL.THROTTLE a 9 1 60\r\nTG.CHECK api user x\r\nCL.THROTTLE a 9 1 60\r\nPING\r\nCL.THROTTLE a 9 1 60\r\n";
    session.room().unwrap().extend_from_slice(commands);
    {
        let mut answer = pin!(session.answer());
        assert!(is_pending(&mut answer));
        assert_eq!(slow.asked(), 4, "all that stand before what is answered at once");
        slow.let_go(3);
        slow.let_go(0);
        slow.let_go(2);
        assert!(is_pending(&mut answer));
        slow.let_go(1);
        assert!(is_pending(&mut answer));
        assert_eq!(slow.asked(), 5);
        slow.let_go(4);
        assert!(!is_pending(&mut answer));
    }
    let said = String::from_utf8(session.replies().to_vec()).unwrap();
    let remaining: Vec<&str> = said
        .lines()
        .collect::<Vec<_>>()
        .windows(3)
        .filter(|lines| lines[0] == ":0" && lines[1] == ":10")
        .map(|lines| lines[2])
        .collect();
    assert_eq!(remaining, [":9", ":8", ":7", ":6"]);
    assert!(said.contains("\r\n+PONG\r\n*5\r\n:0\r\n:10\r\n:6\r\n"), "{said}");
}

#[test]
fn questions_under_way_are_bounded() {
    let talk = Talk::new();
    let (slow, mut session) = (talk.slow(), talk.service.session());
    session.room().unwrap().extend_from_slice(&b"CL.THROTTLE a 9 1 60\r\n".repeat(180));
    let mut answer = pin!(session.answer());
    assert!(is_pending(&mut answer));
    assert_eq!(slow.asked(), 128);
    slow.let_go(0);
    assert!(is_pending(&mut answer));
    assert_eq!(slow.asked(), 129);
}
