//! Callers that mean no good, or know no better: the server answers or closes, bounds what it keeps, and serves others meanwhile.

mod frames;
mod memory;

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::folder::Folder;
use crate::patience::within;
use crate::tidegate::{Tidegate, door};
use frames::{ENHANCE_YOUR_CALM, FRAME_SIZE_ERROR, Frame, PREFACE, REFUSED_STREAM, call, frame, read_frames};

const RULES: &str = "domain: api\nrules:\n- { name: per-key, by: [api_key], limit: 1000000/s }\n";

/// What a server may grow by because of one attack.
const MOST_GROWTH: usize = 24 << 20;

/// A server on one core, so that attackers and others meet there.
async fn server() -> Tidegate {
    let server = Tidegate::set_up(Folder::of(RULES), &[("TIDEGATE_RUNTIME", "1")]).await;
    others_are_served(&server).await;
    server
}

/// Sends bytes and gives what comes until the connection is closed; others are served all the while, and little is kept.
async fn told(server: &Tidegate, to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let before = memory::of(&server.program);
    let talk = async {
        let mut stream = TcpStream::connect(to).await.unwrap();
        // Whoever closes while it is written to has said enough.
        drop(stream.write_all(bytes).await);
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer).await);
        answer
    };
    let others = async || {
        others_are_served(server).await;
        let grown = memory::of(&server.program).saturating_sub(before);
        assert!(grown < MOST_GROWTH, "it grew by {grown} bytes");
    };
    let all_the_while = async {
        loop {
            others().await;
        }
    };
    let answer = tokio::select! {
        answer = within("the end of the connection", talk) => answer,
        () = all_the_while => unreachable!("they go on"),
    };
    others().await;
    answer
}

/// Why the connection was ended, by what was told.
fn why_it_ended(answer: &[u8]) -> Option<&[u8]> {
    read_frames(answer).find(|(kind, _)| *kind == Frame::GoAway as u8).and_then(|(_, why)| why.get(4..8))
}

/// Fails unless somebody else is served.
async fn others_are_served(server: &Tidegate) {
    server.check("honest").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_headers_is_cut_off() {
    let server = server().await;
    let headers = "x-again: and again\r\n".repeat(10_000);
    let many = format!("GET /healthz HTTP/1.1\r\nhost: a\r\n{headers}");
    for request in [many, format!("GET /healthz HTTP/1.1\r\nhost: a\r\nx-long: {}\r\n", "a".repeat(1 << 20))]
    {
        let answer =
            told(&server, server.http, format!("{request}connection: close\r\n\r\n").as_bytes()).await;
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "a flood of headers was answered");
    }
    // So few that all of it is read, and the answer is not torn away.
    let few = format!("GET /healthz HTTP/1.1\r\nhost: a\r\n{}\r\n", "x: y\r\n".repeat(101));
    let answer = told(&server, server.http, few.as_bytes()).await;
    assert!(answer.starts_with(b"HTTP/1.1 431 "), "{}", answer.escape_ascii());
    others_are_served(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_headers_over_http2_ends_the_connection() {
    let server = server().await;
    // A header that is not indexed, of a name of one letter and a value of 126.
    let header = [&[0, 1, b'x', 126][..], &[b'a'; 126]].concat();
    let piece = frame(Frame::Continuation, 0, 1, &header.repeat(120));
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(Frame::Settings, 0, 0, &[]));
    // It never says that its head has ended.
    bytes.extend(frame(Frame::Headers, 0, 1, &header));
    bytes.extend(piece.repeat(2_000));
    for door in [server.grpc, server.http] {
        let answer = told(&server, door, &bytes).await;
        assert_eq!(why_it_ended(&answer), Some(&ENHANCE_YOUR_CALM[..]));
    }
    others_are_served(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_json_is_a_bad_request() {
    let server = server().await;
    for body in ["[".repeat(500_000), format!(r#"{{"domain": {}"#, r#"{"a":"#.repeat(100_000))] {
        server.post("/v1/check", body).await.expect(400);
    }
    others_are_served(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_protocol_is_closed() {
    let server = server().await;
    let rubbish: Vec<u8> = (0..100_000_u32).map(|number| (number * 31 % 251) as u8).collect();
    for door in [server.http, server.grpc, server.admin] {
        told(&server, door, &rubbish).await;
        told(&server, door, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").await;
    }
    others_are_served(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_taken_back_at_once_end_the_connection() {
    let server = server().await;
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(Frame::Settings, 0, 0, &[]));
    for number in 0..20_000_u32 {
        let stream = 2 * number + 1;
        bytes.extend(call(stream));
        bytes.extend(frame(Frame::Reset, 0, stream, &8_u32.to_be_bytes()));
    }
    for door in [server.grpc, server.http] {
        let answer = told(&server, door, &bytes).await;
        assert_eq!(why_it_ended(&answer), Some(&ENHANCE_YOUR_CALM[..]));
    }
    others_are_served(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_calls_than_agreed_are_refused() {
    let server = server().await;
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(Frame::Settings, 0, 0, &[]));
    for number in 0..2_000_u32 {
        bytes.extend(call(2 * number + 1));
    }
    // Nobody may say this: the end.
    bytes.extend(frame(Frame::Settings, 0, 1, &[]));
    for door in [server.grpc, server.http] {
        let answer = told(&server, door, &bytes).await;
        let is_refusal = |(kind, why): &(u8, &[u8])| *kind == Frame::Reset as u8 && *why == REFUSED_STREAM;
        let refused = read_frames(&answer).filter(is_refusal).count();
        assert!(refused > 1_000, "{refused} calls of 2 000 were refused");
    }
    others_are_served(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_longer_than_agreed_ends_the_connection() {
    let server = server().await;
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(Frame::Settings, 0, 0, &[]));
    bytes.extend(call(1));
    // Every frame may have 16 KiB; there is room for more than that.
    bytes.extend(frame(Frame::Data, 0, 1, &vec![0; (16 << 10) + 1]));
    for door in [server.grpc, server.http] {
        let answer = told(&server, door, &bytes).await;
        assert_eq!(why_it_ended(&answer), Some(&FRAME_SIZE_ERROR[..]));
    }
    others_are_served(&server).await;
}

/// The status of a call whose message is compressed, and its words, whether its head says so or not.
async fn called(to: SocketAddr, path: &str, encoding: Option<&str>) -> [HeaderValue; 2] {
    let length = u32::try_from(BOMB.len()).unwrap().to_be_bytes();
    let message = [&[1], &length[..], BOMB].concat();
    let mut request = Request::post(format!("http://{to}{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    if let Some(encoding) = encoding {
        request = request.header("grpc-encoding", encoding);
    }
    let stream = TokioIo::new(TcpStream::connect(to).await.unwrap());
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request.body(Full::new(Bytes::from(message))).unwrap());
    let head = within("an answer", answer).await.unwrap().into_parts().0;
    connection.abort();
    ["grpc-status", "grpc-message"]
        .map(|name| head.headers.get(name).expect("it is refused in the head").clone())
}

/// Sixteen mebibytes of nothing, in sixteen kilobytes.
const BOMB: &[u8] = include_bytes!("hostile/bomb.gz");

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_compressed_is_not_unpacked() {
    let server = server().await;
    for path in ["/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", "/tidegate.v1.Limits/Check"]
    {
        for encoding in [Some("gzip"), None] {
            let [status, words] = called(server.grpc, path, encoding).await;
            assert_eq!(status, "12", "{path} {encoding:?}");
            // Where nobody is, the status is the same and nothing is said.
            let words = words.to_str().unwrap();
            assert!(words.contains("compress"), "{path} {encoding:?}: {words}");
        }
    }
    others_are_served(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_idle_connections_cost_little_and_keep_nobody_out() {
    memory::raise_open_files();
    let server = Tidegate::set_up(Folder::of(RULES), &[("TIDEGATE_RESP", "127.0.0.1:0")]).await;
    let resp = door(&server.program, "resp").await;
    // Half of a request, or nothing at all.
    let begun = [
        (server.http, &b"POST /v1/check HTTP/1.1\r\nhost:"[..]),
        (server.grpc, PREFACE),
        (resp, b"*5\r\n$8\r\nTHROTTLE\r\n$60000\r\n"),
    ];
    others_are_served(&server).await;
    let before = memory::of(&server.program);
    let mut idle = Vec::new();
    for number in 0..3_000 {
        let (door, part) = begun[number % begun.len()];
        let mut stream = TcpStream::connect(door).await.unwrap();
        if number % 2 == 0 {
            stream.write_all(part).await.unwrap();
        }
        idle.push(stream);
    }
    others_are_served(&server).await;
    let each = (memory::of(&server.program).saturating_sub(before)) / idle.len();
    assert!(each < 64 << 10, "an idle connection takes {each} bytes");
}
