//! Stopping: readiness first, then what is under way, then the end.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client;
use crate::folder::Folder;
use crate::patience::{until, within};
use crate::tidegate::{Tidegate, of};

const RULES: &str = "domain: api\nrules:\n  - name: per-key\n    by: [api_key]\n    limit: 10/h\n";

/// A check of which only the head and half of the body have been sent, and of which the server has begun to read the body.
pub(crate) async fn half(tidegate: &Tidegate) -> (TcpStream, Vec<u8>) {
    const GO_ON: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    let body = of("k1").to_string();
    let mut stream = TcpStream::connect(tidegate.http).await.unwrap();
    let ways = "connection: close\r\nexpect: 100-continue";
    let head = format!(
        "POST /v1/check HTTP/1.1\r\nhost: api.test\r\ncontent-length: {}\r\n{ways}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut told = [0; GO_ON.len()];
    within("leave to go on", stream.read_exact(&mut told)).await.unwrap();
    assert_eq!(told, GO_ON, "{}", String::from_utf8_lossy(&told));
    let (first, rest) = body.split_at(10);
    stream.write_all(first.as_bytes()).await.unwrap();
    (stream, rest.as_bytes().to_vec())
}

/// A server that stops without much ado.
async fn at_once() -> Tidegate {
    let settings = [("TIDEGATE_SHUTDOWN_LAME_DUCK", "0"), ("TIDEGATE_SHUTDOWN_DRAIN", "100ms")];
    Tidegate::set_up(Folder::of(RULES), &settings).await
}

async fn is_ready(tidegate: &Tidegate) -> Option<u16> {
    let request = client::request("GET", "/readyz", &[], String::new());
    client::try_send(tidegate.http, request).await.ok().map(|answer| answer.status)
}

#[tokio::test]
async fn readiness_turns_first_then_what_is_under_way_is_answered_then_it_ends_with_0() {
    let tidegate = Tidegate::with(RULES).await;
    assert_eq!(is_ready(&tidegate).await, Some(200));
    let (mut stream, rest) = half(&tidegate).await;

    tidegate.program.signal("TERM").await;
    until("readiness to turn", async || (is_ready(&tidegate).await? == 503).then_some(())).await;
    stream.write_all(&rest).await.unwrap();
    let mut answer = String::new();
    within("the answer to the check under way", stream.read_to_string(&mut answer)).await.unwrap();
    let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["decision"], "allow", "{answer}");

    let Tidegate { program, http, .. } = tidegate;
    let (code, said) = program.end().await;
    assert_eq!(code, Some(0), "{said}");
    assert!(TcpStream::connect(http).await.is_err(), "the door is closed");
}

#[tokio::test]
async fn an_interrupt_ends_it_as_well() {
    let tidegate = at_once().await;
    tidegate.check("k1").await.expect(200);
    tidegate.program.signal("INT").await;
    let (code, said) = tidegate.program.end().await;
    assert_eq!(code, Some(0), "{said}");
}

#[tokio::test]
async fn a_client_that_never_finishes_does_not_hold_the_server_for_ever() {
    let tidegate = at_once().await;
    let (_stream, _rest) = half(&tidegate).await;
    tidegate.program.signal("TERM").await;
    let (code, said) = tidegate.program.end().await;
    assert_eq!(code, Some(0), "{said}");
}
