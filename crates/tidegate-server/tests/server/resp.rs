//! The door that speaks the Redis protocol.

use std::time::Duration;

use tidegate_server::{Config, Error, Stopped, start};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::world::{CEILING, World, ask, config, until};

/// One end of a connection.
struct Caller(TcpStream);

impl Caller {
    async fn to(world: &World) -> Self {
        Self(TcpStream::connect(world.resp()).await.unwrap())
    }

    /// Says something and hears as many bytes as are expected.
    async fn says(&mut self, said: &str, expected: &str) {
        self.0.write_all(said.as_bytes()).await.unwrap();
        self.hears(expected).await;
    }

    async fn hears(&mut self, expected: &str) {
        let mut heard = vec![0; expected.len()];
        let read = timeout(CEILING, self.0.read_exact(&mut heard)).await;
        read.unwrap_or_else(|_| panic!("no {expected}")).unwrap();
        assert_eq!(String::from_utf8_lossy(&heard), expected);
    }

    /// Everything that comes until the connection is closed.
    async fn hears_the_end(&mut self) -> String {
        let mut bytes = Vec::new();
        // A connection that is reset is closed too.
        timeout(CEILING, self.0.read_to_end(&mut bytes)).await.expect("the connection stays open").ok();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

async fn metrics(world: &World) -> String {
    ask(world.admin(), "GET", "/metrics", "").await.body
}

#[track_caller]
fn assert_has(metrics: &str, line: &str) {
    assert!(metrics.lines().any(|one| one == line), "{line} is not in:\n{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_that_callers_bring_and_those_of_the_rules_are_kept_and_counted() {
    let world = World::new().await;
    let mut caller = Caller::to(&world).await;
    caller.says("CL.THROTTLE k 1 1 3600\r\n", "*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:3600\r\n").await;
    caller.says("THROTTLE k 2 1 3600 2\r\n", "*5\r\n:0\r\n:2\r\n:1\r\n:3600\r\n:").await;
    drop(caller);
    let mut caller = Caller::to(&world).await;
    caller.says("TG.CHECK api api_key k1\r\n", "*11\r\n:1\r\n:2\r\n:1\r\n:-1\r\n").await;
    assert_eq!(world.check("k1").await.status, 200, "the same counter, through another door");
    assert_eq!(world.check("k1").await.status, 429);
    let mut other = Caller::to(&world).await;
    other.says("TG.CHECK api api_key k1\r\n", "*11\r\n:0\r\n:2\r\n:0\r\n:").await;
    let metrics = metrics(&world).await;
    for line in [
        r#"ratelimit_throttles_total{outcome="allowed"} 1"#,
        r#"ratelimit_throttles_total{outcome="denied"} 1"#,
        r#"ratelimit_connections_accepted_total{door="resp"} 3"#,
        r#"ratelimit_in_flight{door="resp"} 0"#,
        r#"ratelimit_overloads_total{door="resp"} 0"#,
    ] {
        assert_has(&metrics, line);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_commands_in_one_write_are_answered_in_their_order() {
    let world = World::new().await;
    let caller = Caller::to(&world).await;
    let pair = |number: u32| format!("ECHO {number}\r\nCL.THROTTLE k 0 1 1\r\n");
    let commands = (0..10_000).map(pair).collect::<Vec<_>>().concat();
    let (mut reading, mut writing) = caller.0.into_split();
    tokio::spawn(async move { writing.write_all(format!("{commands}QUIT\r\n").as_bytes()).await });
    let mut heard = String::new();
    timeout(CEILING, reading.read_to_string(&mut heard)).await.expect("the end").unwrap();
    let echoes: Vec<u32> = heard
        .lines()
        .collect::<Vec<_>>()
        .windows(2)
        .filter(|lines| lines[0].starts_with('$'))
        .map(|lines| lines[1].parse().unwrap())
        .collect();
    assert_eq!(echoes, (0..10_000).collect::<Vec<_>>());
    assert_eq!(heard.matches("*5\r\n").count(), 10_000);
    assert!(heard.ends_with("+OK\r\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn absurd_lengths_are_refused_while_others_are_served() {
    let world = World::new().await;
    let mut honest = Caller::to(&world).await;
    for (said, expected) in [
        ("*2000000000\r\n", "-ERR Protocol error: a command has at most 264 words\r\n"),
        ("*3\r\n$536870912\r\n", "-ERR Protocol error: a word has at most 65536 bytes\r\n"),
        ("$5\r\nhello\r\n", "-ERR unknown command '$5'\r\n"),
        (
            "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
            "-ERR Protocol error: this is the Redis protocol, not HTTP\r\n",
        ),
    ] {
        let mut rude = Caller::to(&world).await;
        rude.says(said, expected).await;
        rude.0.shutdown().await.unwrap();
        rude.hears_the_end().await;
        honest.says("PING\r\n", "+PONG\r\n").await;
    }
    assert_has(&metrics(&world).await, r#"ratelimit_body_bytes{door="resp"} 0"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_commands_have_room_together_and_no_more() {
    let world = World::with(|config| {
        (config.limits.body_bytes, config.limits.bodies_bytes) = (64 << 10, 64 << 10);
    })
    .await;
    let word = format!("${}\r\n{}\r\n", 60_000, "x".repeat(60_000));
    let mut first = Caller::to(&world).await;
    first.0.write_all(format!("*5\r\n$4\r\nECHO\r\n{word}").as_bytes()).await.unwrap();
    let held = r#"ratelimit_body_bytes{door="resp"} 49152"#;
    until(world.admin(), "/metrics", |answer| answer.body.lines().any(|line| line == held)).await;
    let mut second = Caller::to(&world).await;
    second.0.write_all(format!("*2\r\n$4\r\nECHO\r\n{word}").as_bytes()).await.unwrap();
    let said = second.hears_the_end().await;
    assert_eq!(said, "-ERR too many long commands at once; try again in 1 s\r\n");
    let mut usual = Caller::to(&world).await;
    usual.says("PING\r\n", "+PONG\r\n").await;
    drop(first);
    let free = r#"ratelimit_body_bytes{door="resp"} 0"#;
    until(world.admin(), "/metrics", |answer| answer.body.lines().any(|line| line == free)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_does_not_read_is_not_read_either_and_is_left_in_time() {
    let world =
        World::with(|config| config.limits.network.request_timeout = Duration::from_millis(200)).await;
    let mut deaf = Caller::to(&world).await;
    let commands = "INFO\r\n".repeat(10_000);
    // Until it is closed: then it cannot be written to.
    let writing = async { while deaf.0.write_all(commands.as_bytes()).await.is_ok() {} };
    timeout(CEILING, writing).await.expect("it takes whatever comes");
    let mut honest = Caller::to(&world).await;
    honest.says("PING\r\n", "+PONG\r\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_slow_and_old_connections_are_closed() {
    type Change = fn(&mut Config);
    let cases: [(Change, &str); 3] = [
        (|config| config.limits.network.idle_timeout = Duration::from_millis(20), ""),
        (
            |config| config.limits.network.request_timeout = Duration::from_millis(20),
            "*2\r\n$4\r\nECHO\r\n$5\r\nhe",
        ),
        (|config| config.limits.network.connection_age = Duration::from_millis(20), "PING\r\n"),
    ];
    for (change, said) in cases {
        let world = World::with(change).await;
        let mut caller = Caller::to(&world).await;
        caller.0.write_all(said.as_bytes()).await.unwrap();
        let heard = caller.hears_the_end().await;
        assert!(heard.is_empty() || heard == "+PONG\r\n", "{heard}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_bound_are_closed_at_once() {
    let world = World::with(|config| config.limits.network.connections = 1).await;
    let mut first = Caller::to(&world).await;
    first.says("PING\r\n", "+PONG\r\n").await;
    assert_eq!(Caller::to(&world).await.hears_the_end().await, "");
    assert_has(&metrics(&world).await, r#"ratelimit_connections_refused_total{door="resp"} 1"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_answers_what_has_come_and_waits_for_nobody_who_is_silent() {
    let world = World::new().await;
    let mut silent = Caller::to(&world).await;
    silent.says("PING\r\n", "+PONG\r\n").await;
    let mut within = Caller::to(&world).await;
    within.says("PING\r\nECHO hel", "+PONG\r\n").await;
    let stopping = tokio::spawn(world.server.stop());
    assert_eq!(silent.hears_the_end().await, "");
    within.0.write_all(b"lo\r\n").await.unwrap();
    assert_eq!(within.hears_the_end().await, "$5\r\nhello\r\n");
    assert_eq!(stopping.await.unwrap(), Stopped::Drained);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_password_only_those_who_know_it_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, "hunter2\n").unwrap();
    let world = World::with(|config| config.resp.password_file = Some(file)).await;
    let mut caller = Caller::to(&world).await;
    caller.says("PING\r\n", "-NOAUTH ").await;
    let mut caller = Caller::to(&world).await;
    caller
        .says(
            "AUTH hunter3\r\nAUTH hunter2\r\nPING\r\n",
            "-WRONGPASS invalid username-password pair\r\n+OK\r\n+PONG\r\n",
        )
        .await;
    assert_has(&metrics(&world).await, r#"ratelimit_callers_refused_total{door="resp",reason="secret"} 1"#);
    let mut config = config();
    config.resp.password_file = Some(folder.path().join("nowhere"));
    assert!(matches!(start(&config).await, Err(Error::Net(tidegate_net::Error::Secret { .. }))));
}
