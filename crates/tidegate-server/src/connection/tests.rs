//! Connections whose peers are silent, slow or old: closed in time, and not before.

mod http1;

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::Timestamp;
use tidegate_engine::Engine;
use tidegate_frontend::door::DoorSettings;
use tidegate_frontend::http::Checks;
use tidegate_rules::{Source, compile};
use tidegate_store::Memory;
use tidegate_wire::trust::Peer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio::sync::watch;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, sleep_until};

use super::{KEEP_ALIVE, PATIENCE, Shortcut};
use crate::config::Limits;
use crate::health::Health;
use crate::listener::{Counts, Door, Phase, Serves as _, Wire};
use crate::stack::Stack;

const RULES: &str = "
domain: api
rules:
  - { name: per-user, by: [user], limit: 3/min }
  - { name: bots, match: { agent: bot }, action: block }
";

const HEADER_TIMEOUT: Duration = Duration::from_secs(7);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const IDLE_TIMEOUT: Duration = Duration::from_secs(9);
const AGE: Duration = Duration::from_secs(20);

/// A door to an engine of its own, with the short way or without.
async fn door(short: bool) -> Arc<Door> {
    let engine = Arc::new(Engine::new(Stack::Memory(Memory::new())));
    engine.install(compile(vec![Source::new("a.yaml", RULES)]).snapshot.unwrap());
    let clock = Arc::new(|| Timestamp::from_micros(1_790_000_000_000_000));
    let way = tidegate_frontend::door::Door::new(engine, clock, DoorSettings::default());
    let health = Arc::new(Health::new().await);
    Arc::new(Door {
        name: "http",
        http2_only: false,
        tells_peers: true,
        tls: None,
        shortcut: short.then(|| Shortcut::Check(Checks::new(way.clone()))),
        room: way.room().clone(),
        app: crate::http::app(way, &health, None),
        goes_on: |_| false,
        late: crate::http::late,
        broken: crate::http::broken,
        busy: crate::http::busy,
        limits: Limits {
            header_timeout: HEADER_TIMEOUT,
            request_timeout: REQUEST_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            connection_age: AGE,
            ..Limits::default()
        },
        counts: Arc::new(Counts::default()),
    })
}

/// Our end of a connection to a door, and who can say that the server goes away.
fn connect(door: Arc<Door>) -> (DuplexStream, watch::Sender<Phase>) {
    let (ours, theirs) = duplex(1 << 20);
    (ours, connect_over(theirs, door).0)
}

/// The same over what is given; and its end.
fn connect_over(theirs: impl Wire, door: Arc<Door>) -> (watch::Sender<Phase>, JoinHandle<()>) {
    let (going, phase) = watch::channel(Phase::Serving);
    let peer = Peer::at("192.0.2.1:4711".parse().unwrap());
    (going, tokio::spawn(door.drive((theirs, peer), phase)))
}

/// Lets the other end do all it can.
async fn breathe() {
    for _ in 0..16 {
        yield_now().await;
    }
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// How long a peer is waited for that speaks HTTP/2, and does not get further than that.
async fn waited_for(door: Door) -> Duration {
    let (mut ours, _serving) = connect(Arc::new(door));
    let start = Instant::now();
    ours.write_all(PREFACE).await.unwrap();
    ours.read_to_end(&mut Vec::new()).await.unwrap();
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn whoever_speaks_http2_and_falls_silent_is_closed_in_time() {
    for short in [true, false] {
        let mut door = Arc::into_inner(door(short).await).unwrap();
        door.limits.idle_timeout = IDLE_TIMEOUT;
        let took = waited_for(door).await;
        assert!((IDLE_TIMEOUT..=IDLE_TIMEOUT + 2 * PATIENCE).contains(&took), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_does_not_answer_whether_it_is_there_is_not_waited_for() {
    let mut door = Arc::into_inner(door(false).await).unwrap();
    (door.limits.idle_timeout, door.limits.connection_age) = (100 * IDLE_TIMEOUT, 1000 * IDLE_TIMEOUT);
    let (asked_after, answer_within) = KEEP_ALIVE;
    let (expected, took) = (asked_after + answer_within, waited_for(door).await);
    assert!((expected..=expected + 2 * PATIENCE).contains(&took), "{took:?}");
}

/// The next frame: its kind, its flags and what is in it; `None` at the end.
async fn next_frame(stream: &mut (impl AsyncRead + Unpin)) -> Option<(u8, u8, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.ok()?;
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    stream.read_exact(&mut payload).await.ok()?;
    Some((head[3], head[4], payload))
}

/// A door where answers have so much time to be taken, long before a connection is idle or old.
async fn patient(short: bool, taking: Duration) -> Arc<Door> {
    let mut door = Arc::into_inner(door(short).await).unwrap();
    (door.limits.idle_timeout, door.limits.connection_age) = (100 * taking, 100 * taking);
    (door.limits.request_timeout, door.limits.header_timeout) = (taking, 100 * taking);
    Arc::new(door)
}

/// There is no room for a byte of an answer, or for one.
#[tokio::test(start_paused = true)]
async fn whoever_takes_no_answers_over_http2_is_closed_in_time() {
    const DATA: u8 = 0;
    const HEADERS: u8 = 1;
    const PING: u8 = 6;
    // Whether it is there is asked meanwhile.
    let taking = KEEP_ALIVE.0 + KEEP_ALIVE.1;
    for (short, window) in [(true, 0), (false, 0), (true, 1), (false, 1)] {
        let (mut ours, _serving) = connect(patient(short, taking).await);
        let start = Instant::now();
        ours.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0").await.unwrap();
        ours.write_all(&[window]).await.unwrap();
        // GET http://a/healthz, and no more of it.
        ours.write_all(b"\0\0\x0f\x01\x05\0\0\0\x01\x82\x86\x04\x08/healthz\x01\x01a").await.unwrap();
        let (mut heads, mut asked, mut bytes) = (0, 0, 0);
        while let Some((kind, flags, payload)) = next_frame(&mut ours).await {
            heads += usize::from(kind == HEADERS);
            bytes += if kind == DATA { payload.len() } else { 0 };
            if kind == PING && flags == 0 {
                asked += 1;
                drop(ours.write_all(&[&b"\0\0\x08\x06\x01\0\0\0\0"[..], &payload].concat()).await);
            }
        }
        let took = start.elapsed();
        assert!(heads == 1 && asked > 0, "{heads} answers, {asked} pings");
        assert_eq!(bytes, usize::from(window));
        assert!((taking..=2 * taking + 2 * PATIENCE).contains(&took), "{took:?}");
    }
}

/// Over HTTP/1 too, and the answer keeps its room until then.
#[tokio::test(start_paused = true)]
async fn whoever_reads_no_answers_is_closed_in_time() {
    let taking = Duration::from_secs(30);
    let door = patient(false, taking).await;
    let (mut ours, theirs) = duplex(1 << 10);
    let (_going, serving) = connect_over(theirs, Arc::clone(&door));
    let start = Instant::now();
    ours.write_all(b"GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    tokio::time::sleep(taking / 2).await;
    let all_but_none = door.room.hold(DoorSettings::default().max_bodies_bytes / 2);
    assert!(all_but_none.is_none(), "an answer that waits takes its room");
    serving.await.unwrap();
    let took = start.elapsed();
    assert!((taking..=2 * taking + 2 * PATIENCE).contains(&took), "{took:?}");
    assert!(door.room.hold(DoorSettings::default().max_bodies_bytes / 2).is_some());
}

/// A peer that does not hear that the connection is old, and always has a request that it has not sent to its end.
#[tokio::test(start_paused = true)]
async fn an_old_connection_ends_whatever_its_peer_begins() {
    let (mut ours, _serving) = connect(door(false).await);
    let start = Instant::now();
    ours.write_all(PREFACE).await.unwrap();
    let begin = async |ours: &mut DuplexStream, number: u8| {
        // POST http://a/v1/peek, and more to come.
        let head = [b"\0\0\x0f\x01\x04\0\0\0".as_slice(), &[number], b"\x83\x86\x04\x08/v1/peek\x01\x01a"];
        ours.write_all(&head.concat()).await.is_ok()
    };
    for number in (1..255).step_by(2) {
        if !begin(&mut ours, number).await {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let (took, most) = (start.elapsed(), AGE * 11 / 10 + REQUEST_TIMEOUT + 3 * PATIENCE);
    assert!((AGE * 9 / 10..=most).contains(&took), "{took:?}");
}

/// Frames of a connection over HTTP/2: the beginning, with no room for bodies; a request and the end of it, or a piece and its end.
fn without_room() -> Vec<u8> {
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0".to_vec()
}

fn healthz(stream: u32) -> Vec<u8> {
    [b"\0\0\x0f\x01\x05", &stream.to_be_bytes()[..], b"\x82\x86\x04\x08/healthz\x01\x01a"].concat()
}

fn room_for(stream: u32) -> Vec<u8> {
    [b"\0\0\x04\x08\0", &stream.to_be_bytes()[..], b"\0\0\xff\xff"].concat()
}

/// Somebody who takes an answer now and then does not keep all others for as long as he likes.
#[tokio::test(start_paused = true)]
async fn whoever_leaves_one_answer_is_closed_in_time_whatever_else_he_takes() {
    let taking = Duration::from_secs(8);
    for short in [true, false] {
        let (ours, _serving) = connect(patient(short, taking).await);
        let (mut reading, mut writing) = split(ours);
        let start = Instant::now();
        let taken = tokio::spawn(async move {
            reading.read_to_end(&mut Vec::new()).await.unwrap();
            start.elapsed()
        });
        writing.write_all(&[without_room(), healthz(1)].concat()).await.unwrap();
        for stream in (3..99).step_by(2) {
            tokio::time::sleep(taking / 4).await;
            if writing.write_all(&[healthz(stream), room_for(stream)].concat()).await.is_err() {
                break;
            }
        }
        let took = taken.await.unwrap();
        assert!((taking..=2 * taking + 3 * PATIENCE).contains(&took), "{took:?}");
    }
}

/// What a connection brings at that time, in order; how many answers came, and when it was closed.
async fn brings(door: Arc<Door>, pieces: Vec<(Duration, Vec<u8>)>) -> (usize, Duration) {
    const HEADERS: u8 = 1;
    let (ours, _serving) = connect(door);
    let (mut reading, mut writing) = split(ours);
    let start = Instant::now();
    let writes = async {
        for (at, bytes) in pieces {
            sleep_until(start + at).await;
            drop(writing.write_all(&bytes).await);
        }
    };
    let reads = async {
        let mut answers = 0;
        while let Some((kind, ..)) = next_frame(&mut reading).await {
            answers += usize::from(kind == HEADERS);
        }
        (answers, start.elapsed())
    };
    tokio::join!(writes, reads).1
}

/// One answer of a connection is not taken, and the request of somebody else is not sent to its end when that is found out.
#[tokio::test(start_paused = true)]
async fn whoever_shares_a_connection_with_an_answer_that_is_left_is_answered() {
    let taking = Duration::from_secs(8);
    let head = b"\0\0\x0f\x01\x04\0\0\0\x03\x83\x86\x04\x08/v1/peek\x01\x01a".to_vec();
    let rest = [b"\0\0\x10\0\x01\0\0\0\x03".as_slice(), br#"{"domain":"api"}"#].concat();
    let (while_it_waits, found_out) = (taking * 3 / 2, taking * 2);
    let pieces = vec![
        (Duration::ZERO, [without_room(), healthz(1)].concat()),
        (while_it_waits, head),
        (found_out + PATIENCE * 2, rest),
    ];
    let (answers, took) = brings(patient(false, taking).await, pieces).await;
    assert_eq!(answers, 2, "the other one is not answered");
    assert!((found_out..=found_out + 5 * PATIENCE).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn whoever_takes_no_answers_does_not_hold_up_a_stop() {
    let (mut ours, theirs) = duplex(1 << 20);
    let (going, serving) = connect_over(theirs, door(false).await);
    ours.write_all(&[without_room(), healthz(1)].concat()).await.unwrap();
    breathe().await;
    let start = Instant::now();
    going.send_replace(Phase::Draining);
    serving.await.unwrap();
    let took = start.elapsed();
    assert!(took <= 2 * PATIENCE, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn whoever_took_everything_may_be_idle_as_long_as_anybody() {
    let (taking, idle) = (Duration::from_secs(2), Duration::from_secs(20));
    let mut door = Arc::into_inner(door(false).await).unwrap();
    (door.limits.request_timeout, door.limits.idle_timeout) = (taking, idle);
    door.limits.connection_age = 100 * idle;
    let (mut ours, _serving) = connect(Arc::new(door));
    let start = Instant::now();
    ours.write_all(&[PREFACE, &healthz(1), &healthz(3)].concat()).await.unwrap();
    ours.read_to_end(&mut Vec::new()).await.unwrap();
    let took = start.elapsed();
    assert!((idle..=idle + 2 * PATIENCE).contains(&took), "{took:?}");
}

/// The server goes, or the connection is old, while a long answer is on its way to somebody who takes it, but not at once.
#[tokio::test(start_paused = true)]
async fn an_answer_on_its_way_arrives_though_the_connection_is_to_end() {
    let (mut ours, theirs) = duplex(1 << 10);
    let (going, _serving) = connect_over(theirs, door(false).await);
    ours.write_all(b"GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let (mut back, mut piece) = (Vec::new(), [0; 4 << 10]);
    loop {
        let bytes = ours.read(&mut piece).await.unwrap();
        back.extend_from_slice(&piece[..bytes]);
        going.send_replace(Phase::Draining);
        tokio::time::sleep(REQUEST_TIMEOUT / 200).await;
        if bytes == 0 {
            break;
        }
    }
    let back = String::from_utf8(back).unwrap();
    let (head, body) = back.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}", body.len())), "{} of {head}", body.len());
}

/// Many calls whose messages are short and come together, each with an end of its own.
#[tokio::test(start_paused = true)]
async fn as_many_short_requests_as_there_may_be_come_together() {
    const REQUESTS: u32 = 1000;
    const GOAWAY: u8 = 7;
    let mut door = Arc::into_inner(door(false).await).unwrap();
    door.limits.streams = 2 * REQUESTS;
    let (mut ours, _serving) = connect(Arc::new(door));
    let mut asked = PREFACE.to_vec();
    for stream in (1..2 * REQUESTS).step_by(2).map(u32::to_be_bytes) {
        let head = [b"\0\0\x0f\x01\x04", &stream[..], b"\x83\x86\x04\x08/v1/peek\x01\x01a"];
        let body = [b"\0\0\x10\0\0", &stream[..], br#"{"domain":"api"}"#, b"\0\0\0\0\x01", &stream[..]];
        asked.extend(head.concat());
        asked.extend(body.concat());
    }
    ours.write_all(&asked).await.unwrap();
    let mut heads = 0;
    while heads < REQUESTS {
        let (kind, _, payload) = next_frame(&mut ours).await.expect("it was closed");
        assert_ne!(kind, GOAWAY, "{}", String::from_utf8_lossy(&payload));
        heads += u32::from(kind == 1);
    }
}
