//! The axum example behind a real socket, driven by a plain HTTP/1.1 client.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use tidegate::tower::RateLimitLayer;
use tidegate::{Limit, Limiter, ManualClock, Rule};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::example::app;

struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    async fn start() -> Self {
        Self::of(app(Limiter::with_clock(ManualClock::new())).unwrap()).await
    }

    async fn of(app: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = app.into_make_service_with_connect_info::<SocketAddr>();
        let task = tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
        Self { address, task }
    }

    async fn send(&self, path: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn get(&self, path: &str, headers: &str) -> Answer {
        let mut answer = String::new();
        self.send(path, headers).await.read_to_string(&mut answer).await.unwrap();
        Answer(answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Answer(String);

impl Answer {
    fn status(&self) -> u16 {
        self.0[9..12].parse().unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let head = self.0.split("\r\n\r\n").next()?;
        head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    fn json(&self) -> serde_json::Value {
        let body = self.0.split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str(body).unwrap()
    }
}

#[tokio::test]
async fn the_sixth_quick_request_of_a_key_is_refused_and_says_why() {
    let server = Server::start().await;
    for left in (0..5).rev() {
        let answer = server.get("/hello", "x-api-key: k1\r\n").await;
        assert_eq!(answer.status(), 200);
        let policy = answer.header("ratelimit-policy").unwrap();
        assert_eq!(policy, r#""per-key";q=5;w=10, "per-address";q=300;w=60"#);
        // One of so many units leaves the sliding window after one part of the next minute.
        let next_s = 60 + 60 / (5 - left);
        let told = format!(r#""per-key";r={left};t=2, "per-address";r={};t={next_s}"#, 295 + left);
        assert_eq!(answer.header("ratelimit"), Some(told.as_str()));
        assert_eq!(answer.header("x-ratelimit-limit"), Some("5"));
        assert_eq!(answer.header("retry-after"), None);
    }
    let answer = server.get("/hello", "x-api-key: k1\r\n").await;
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    assert_eq!(answer.header("retry-after"), Some("2"));
    let problem = answer.json();
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert_eq!(problem["violated-policies"], serde_json::json!(["per-key"]));
    assert!(!answer.0.contains("k1"), "a refusal shows the key");

    assert_eq!(
        server.get("/hello", "x-api-key: k2\r\n").await.status(),
        200,
        "another key is another counter"
    );
    assert_eq!(server.get("/hello", "").await.status(), 200, "the rule does not apply without a key");
}

#[tokio::test]
async fn a_refused_request_is_charged_to_no_other_rule() {
    let server = Server::start().await;
    for _ in 0..20 {
        server.get("/hello", "x-api-key: k1\r\n").await;
    }
    let answer = server.get("/hello", "").await;
    assert!(answer.header("ratelimit").unwrap().starts_with(r#""per-address";r=294;"#), "{}", answer.0);
}

#[tokio::test]
async fn addresses_that_a_trusted_proxy_names_are_counted_apart() {
    let server = Server::start().await;
    let remaining = async |headers: &str| {
        let answer = server.get("/hello", headers).await;
        answer.header("x-ratelimit-remaining").unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(remaining("x-forwarded-for: 203.0.113.7\r\n").await, 299);
    assert_eq!(remaining("x-forwarded-for: 203.0.113.7\r\n").await, 298);
    assert_eq!(
        remaining("x-forwarded-for: 198.51.100.1, 203.0.113.7\r\n").await,
        297,
        "a forged hop changes nothing"
    );
    assert_eq!(remaining("x-forwarded-for: 203.0.113.8\r\n").await, 299);
    assert_eq!(
        remaining("x-forwarded-for: ::ffff:203.0.113.8\r\n").await,
        298,
        "a mapped address is the same one"
    );
    assert_eq!(remaining("x-forwarded-for: 2001:db8::1\r\n").await, 299);
    assert_eq!(remaining("x-forwarded-for: 2001:db8::ffff\r\n").await, 298, "one /64 is one client");
}

/// Tells when a request is inside the handler and when it has left it, by whatever way.
struct Inside(UnboundedSender<&'static str>);

impl Inside {
    fn enter(events: UnboundedSender<&'static str>) -> Self {
        events.send("in").unwrap();
        Self(events)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // The test may have ended and closed its end.
        self.0.send("out").ok();
    }
}

/// A room for one, whose only handler never answers.
fn room(events: UnboundedSender<&'static str>) -> Router {
    let one = Rule::new("room", Limit::concurrency(1, Duration::from_secs(3600)).unwrap()).unwrap();
    let wait = move || async move {
        let _inside = Inside::enter(events);
        std::future::pending::<&str>().await
    };
    Router::new().route("/", get(wait)).layer(RateLimitLayer::new(Limiter::new()).shed(one))
}

#[tokio::test]
async fn a_client_that_goes_away_gives_its_slot_back() {
    let (sender, mut events) = unbounded_channel();
    let server = Server::of(room(sender)).await;
    for _ in 0..3 {
        let client = server.send("/", "").await;
        assert_eq!(events.recv().await, Some("in"));
        let refused = server.get("/", "").await;
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.json()["title"], "Temporary Reduced Capacity");
        assert_eq!(refused.header("ratelimit-policy"), None, "capacity is not the client's business");
        drop(client);
        assert_eq!(events.recv().await, Some("out"));
    }
}
