//! What `tidegate snippet` prints works in the real programs: requests pass within their limits, are refused beyond them, and
//! pass when Tidegate is slow or gone.
//!
//! Proxies wait for 20 or 100 ms at most and then let pass, and a busy machine may take longer: a refusal is therefore waited
//! for, and how many passed before it is not counted.

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::client::{self, Answer};
use crate::folder::Folder;
use crate::patience::until;
use crate::proxy::{Kind, Proxy};
use crate::tidegate::{Tidegate, serve};
use crate::upstream::Upstream;

const RULES: &str = "
domain: api
rules:
  - { name: per-key, by: [api_key], limit: 2/h }
  - { name: logins, match: { method: POST, path: /login }, by: [ip], limit: 1/h }
  - { name: vault, match: { path: /vault }, by: [ip], limit: 100/s, class: security }
";

/// Longer than any time-out that is printed, and much shorter than those that the programs have by themselves.
const SOON: Duration = Duration::from_secs(4);

/// A server at an address, or at one that is free.
async fn tidegate(http: Option<SocketAddr>, grpc: Option<SocketAddr>, store: &str) -> Tidegate {
    serving(RULES, (http, grpc), store).await
}

async fn serving(
    rules: &str,
    (http, grpc): (Option<SocketAddr>, Option<SocketAddr>),
    store: &str,
) -> Tidegate {
    // On Linux every address of 127/8 is ours: nobody takes the port while the server is gone.
    let free = if cfg!(target_os = "linux") { "127.0.0.7:0" } else { "127.0.0.1:0" };
    let at = |address: Option<SocketAddr>| address.map_or(free.to_owned(), |address| address.to_string());
    let (rules, http, grpc) = (Folder::of(rules), at(http), at(grpc));
    let mut command = serve(&["--http", &http, "--grpc", &grpc, "--store", store], Some(rules.path()));
    command.env("TIDEGATE_TRUST_PEERS", "127.0.0.0/8");
    Tidegate::from(command, rules).await
}

impl Proxy {
    async fn ask(&self, (method, path): (&str, &str), headers: &[(&str, &str)]) -> Answer {
        let body = if method == "POST" { "a body".to_owned() } else { String::new() };
        client::send(self.address, client::request(method, path, headers, body)).await
    }

    async fn answered(&self, line: (&str, &str), headers: &[(&str, &str)], status: u16) -> Answer {
        let what = format!("{line:?} to be answered {status}");
        until(&what, async || Some(self.ask(line, headers).await).filter(|answer| answer.status == status))
            .await
    }
}

async fn check(kind: Kind) {
    let mut tidegate = tidegate(None, None, "memory").await;
    let (http, grpc) = (tidegate.http, tidegate.grpc);
    let upstream = Upstream::start().await;
    let proxy = Proxy::start(kind, &tidegate, upstream.address).await;
    passes_until_the_limit(&proxy, &upstream).await;
    tells_what_is_asked(&proxy).await;

    tidegate.program.signal("STOP").await;
    // The system takes a while to stop all of its threads.
    proxy.answered(("GET", "/orders"), &[("x-api-key", "k1")], 200).await;
    passes(&proxy, "a server that hangs").await;
    tidegate.program.kill().await;
    passes(&proxy, "no server").await;

    // It is back, and cannot count: nobody listens there. Then the class of a rule has the say, and not the proxy.
    let _back = self::tidegate(Some(http), Some(grpc), "redis://127.0.0.1:1").await;
    let status = if kind == Kind::Envoy { 429 } else { 503 };
    let undecided = proxy.answered(("GET", "/vault"), &[], status).await;
    assert!(undecided.header("retry-after").is_some(), "{undecided:?}");
    passes(&proxy, "a server that cannot count").await;
}

async fn passes_until_the_limit(proxy: &Proxy, upstream: &Upstream) {
    let (line, key) = (("GET", "/orders?page=1"), [("x-api-key", "k1")]);
    let passed = proxy.ask(line, &key).await.expect(200);
    assert_eq!(passed.json()["path"], "/orders", "the upstream answers");
    let refused = proxy.answered(line, &key, 429).await;
    assert_eq!(refused.header("content-type"), Some("application/problem+json"), "{refused:?}");
    assert_eq!(refused.json()["status"], 429);
    assert_eq!(refused.header("ratelimit-policy"), Some(r#""per-key";q=2;w=3600"#), "{refused:?}");
    assert_eq!(refused.header("x-ratelimit-denied-by"), Some(r#"api_key;rule="per-key""#), "{refused:?}");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=7200).contains(&wait), "{refused:?}");
    let served = upstream.served();
    proxy.ask(line, &[("x-api-key", "k2")]).await.expect(200);
    assert_eq!(upstream.served(), served + 1, "{}", proxy.said());
}

/// Method, path and address arrive, however a client spells the path or whatever it claims.
async fn tells_what_is_asked(proxy: &Proxy) {
    let passed = proxy.ask(("POST", "/login"), &[]).await.expect(200);
    assert_eq!((&passed.json()["method"], &passed.json()["body"]), (&"POST".into(), &"a body".into()));
    proxy.answered(("POST", "//login"), &[], 429).await;
    let claims = [
        ("x-forwarded-for", "192.0.2.9"),
        ("x-forwarded-method", "GET"),
        ("x-forwarded-uri", "/"),
        ("x-original-method", "GET"),
        ("x-original-uri", "/"),
    ];
    proxy.answered(("POST", "/login"), &claims, 429).await;
    proxy.ask(("GET", "/login"), &[]).await.expect(200);
}

/// Who may not log in any more does not get through by what cannot be asked about, even to an API that takes everything, and the
/// proxy goes on.
async fn nothing_that_a_client_writes_is_a_way_around(kind: Kind) {
    // A refusal by all of these has more to say than fits into a page of memory.
    let many = (0..30).map(|number| {
        let name = format!("one-of-many-{number:-<50}");
        format!("  - {{ name: {name}, match: {{ path: /many }}, by: [ip], limit: 1/h }}\n")
    });
    let rules = format!("{RULES}{}", many.collect::<String>());
    let tidegate = serving(&rules, (None, None), "memory").await;
    let (upstream, taking) = takes_everything().await;
    let proxy = Proxy::start(kind, &tidegate, upstream).await;
    let key = |value: &[u8], times| [b"x-api-key: ", value, b"\r\n"].concat().repeat(times);
    let long = |bytes| format!("/login?x={}", "a".repeat(bytes));
    for (target, fields) in [
        ("/login".to_owned(), Vec::new()),
        ("/login".to_owned(), key(b"\xff", 1)),
        ("/login".to_owned(), key(b"\x01a", 1)),
        ("/login".to_owned(), key(b"\x7f", 1)),
        ("/login".to_owned(), key(b"k", 60)),
        ("/login".to_owned(), key(b"k", 95)),
        ("/login".to_owned(), key(b"k", 98)),
        ("/login".to_owned(), key(&[b'k'; 9_000], 1)),
        (long(8_000), key(&[b'k'; 7_000], 1)),
        (long(9_000), Vec::new()),
        (long(14_500), Vec::new()),
        (long(15_100), Vec::new()),
    ] {
        let head = format!("POST {target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 0\r\n");
        let request = [head.as_bytes(), &fields, b"\r\n"].concat();
        let what = format!("{:.60} of {} bytes", request.escape_ascii(), request.len());
        is_refused(&proxy, &what, || request.clone()).await;
    }
    is_refused(&proxy, "a request that meets many limits", || {
        b"GET /many HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n".to_vec()
    })
    .await;
    // One key for us and one for the API, new ones each time.
    let number = Cell::new(0);
    is_refused(&proxy, "a request with two keys", || {
        let at = number.replace(number.get() + 1);
        let keys = format!("x-api-key: one{at}\r\nx-api-key: other{at}\r\n");
        format!("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{keys}\r\n").into_bytes()
    })
    .await;
    let request = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-api-key: k1\r\n\r\n";
    assert_eq!(raw(proxy.address, request).await, "200", "{}", proxy.said());
    taking.abort();
}

/// Asks until it is refused for what it is: a proxy that does not know is no refusal.
async fn is_refused(proxy: &Proxy, what: &str, request: impl Fn() -> Vec<u8>) {
    let refusals = ["400", "403", "414", "429", "431", "503"];
    until(&format!("{what} to be refused"), async || {
        let status = raw(proxy.address, &request()).await;
        refusals.contains(&status.as_str()).then_some(())
    })
    .await;
}

/// The status of what comes back; nothing if none does.
async fn raw(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("the proxy listens");
    // Whoever closes while it is written to has said enough.
    drop(stream.write_all(request).await);
    let mut answer = Vec::new();
    drop(timeout(SOON, stream.read_to_end(&mut answer)).await.expect("an answer, or an end"));
    String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap_or_default().to_owned()
}

/// An API that answers 200 to whatever it is sent.
async fn takes_everything() -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut came = Vec::new();
                while !came.ends_with(b"\r\n\r\n")
                    && stream.read_buf(&mut came).await.is_ok_and(|bytes| bytes > 0)
                {}
                drop(
                    stream
                        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                        .await,
                );
            });
        }
    };
    (address, tokio::spawn(serving))
}

async fn passes(proxy: &Proxy, when: &str) {
    for line in [("GET", "/orders"), ("POST", "/login")] {
        let started = Instant::now();
        let passed = proxy.ask(line, &[("x-api-key", "k1")]).await;
        assert_eq!(passed.status, 200, "{when}: {passed:?}\n{}", proxy.said());
        let body = if line.0 == "POST" { "a body" } else { "" };
        assert_eq!(passed.json()["body"], body, "{when}: {passed:?}");
        assert!(started.elapsed() < SOON, "{when}: {:?}", started.elapsed());
    }
}

#[tokio::test]
async fn envoy_works_as_it_is_printed() {
    check(Kind::Envoy).await;
}

#[tokio::test]
async fn nginx_works_as_it_is_printed() {
    check(Kind::Nginx).await;
}

#[tokio::test]
async fn caddy_works_as_it_is_printed() {
    check(Kind::Caddy).await;
}

#[tokio::test]
async fn traefik_works_as_it_is_printed() {
    check(Kind::Traefik).await;
}

#[tokio::test]
async fn haproxy_works_as_it_is_printed() {
    check(Kind::Haproxy).await;
}

#[tokio::test]
async fn envoy_lets_nobody_around() {
    nothing_that_a_client_writes_is_a_way_around(Kind::Envoy).await;
}

#[tokio::test]
async fn nginx_lets_nobody_around() {
    nothing_that_a_client_writes_is_a_way_around(Kind::Nginx).await;
}

#[tokio::test]
async fn caddy_lets_nobody_around() {
    nothing_that_a_client_writes_is_a_way_around(Kind::Caddy).await;
}

#[tokio::test]
async fn traefik_lets_nobody_around() {
    nothing_that_a_client_writes_is_a_way_around(Kind::Traefik).await;
}

#[tokio::test]
async fn haproxy_lets_nobody_around() {
    nothing_that_a_client_writes_is_a_way_around(Kind::Haproxy).await;
}
