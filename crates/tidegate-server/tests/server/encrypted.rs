//! Doors behind TLS.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tidegate_rig::certificates;
use tidegate_server::config::ClientCertificates;
use tidegate_server::{Error, Stopped, start};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::{Endpoint, Uri};
use tower_service::Service;

use crate::world::{CEILING, World, config};

/// A server that shows the certificates of that folder.
async fn world(folder: &TempDir, clients: bool) -> World {
    World::with(|config| {
        config.tls.files.certificate = Some(folder.path().join("server.crt"));
        config.tls.files.private_key = Some(folder.path().join("server.key"));
        config.tls.files.client_authorities = clients.then(|| folder.path().join("ca.crt"));
        config.tls.doors = vec!["grpc", "http", "admin", "resp"];
    })
    .await
}

/// A connection that trusts the authority of a folder, and shows who it is if it is to.
async fn connect(
    address: SocketAddr,
    folder: &Path,
    (shows, speaks): (bool, &[u8]),
) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    let (config, name) = (client(folder, (shows, speaks)), ServerName::from(address.ip()));
    TlsConnector::from(config).connect(name, stream).await
}

/// What such a connection trusts, shows and speaks.
fn client(folder: &Path, (shows, speaks): (bool, &[u8])) -> Arc<ClientConfig> {
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&read("ca.crt")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let mut config = if shows {
        let chain = vec![CertificateDer::from_pem_slice(&read("client.crt")).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(&read("client.key")).unwrap();
        builder.with_client_auth_cert(chain, key).unwrap()
    } else {
        builder.with_no_client_auth()
    };
    config.alpn_protocols =
        [speaks].iter().filter(|speaks| !speaks.is_empty()).map(|speaks| speaks.to_vec()).collect();
    Arc::new(config)
}

/// A connection that says nothing, or greets and then says nothing any more.
async fn fall_silent(address: SocketAddr, folder: &Path, greets: bool) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    if greets {
        let config = client(folder, (false, b"http/1.1"));
        let mut connection = rustls::ClientConnection::new(config, ServerName::from(address.ip())).unwrap();
        let mut greeting = Vec::new();
        connection.write_tls(&mut greeting).unwrap();
        stream.write_all(&greeting).await.unwrap();
    }
    stream
}

/// A door, what is spoken inside, and how to begin.
type Way = (SocketAddr, &'static [u8], &'static [u8]);

/// Every door.
fn ways(world: &World) -> [Way; 4] {
    let http = (&b"http/1.1"[..], &b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"[..]);
    [
        (world.http(), http.0, http.1),
        (world.admin(), http.0, http.1),
        (world.grpc(), b"h2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"),
        (world.resp(), b"", b"PING\r\n"),
    ]
}

/// Whether anything comes back from a door.
async fn answers((address, speaks, begins): Way, folder: &Path, shows: bool) -> bool {
    let talk = async {
        let mut stream = connect(address, folder, (shows, speaks)).await?;
        stream.write_all(begins).await?;
        stream.read(&mut [0]).await
    };
    timeout(CEILING, talk).await.expect("an answer, or an end").is_ok_and(|bytes| bytes > 0)
}

/// Makes connections for calls.
#[derive(Clone)]
struct Connector {
    address: SocketAddr,
    folder: PathBuf,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TlsStream<TcpStream>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self { address, folder } = self.clone();
        Box::pin(async move { connect(address, &folder, (true, b"h2")).await.map(TokioIo::new) })
    }
}

/// The status line of an answer over HTTP/1.
async fn status(address: SocketAddr, folder: &Path, shows: bool) -> io::Result<String> {
    status_of(address, (folder, shows), "GET /healthz HTTP/1.1\r\nhost: localhost\r\n").await
}

/// The same of the answer to that request.
async fn status_of(address: SocketAddr, caller: (&Path, bool), request: &str) -> io::Result<String> {
    let answer = answer_to(address, caller, request).await?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

/// All of it.
async fn answer_to(address: SocketAddr, (folder, shows): (&Path, bool), request: &str) -> io::Result<String> {
    let mut stream = connect(address, folder, (shows, b"http/1.1")).await?;
    stream.write_all(format!("{request}connection: close\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    timeout(CEILING, stream.read_to_string(&mut answer)).await??;
    Ok(answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn encrypted_doors_answer_and_plain_words_are_not_understood() {
    let folder = certificates();
    let world = world(&folder, false).await;
    for door in [world.http(), world.admin()] {
        assert_eq!(status(door, folder.path(), false).await.unwrap(), "HTTP/1.1 200 OK");
        let mut plain = TcpStream::connect(door).await.unwrap();
        plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        timeout(CEILING, plain.read_to_end(&mut answer)).await.expect("it is closed").ok();
        assert!(!answer.starts_with(b"HTTP"), "a plain answer from an encrypted door");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_answered_over_an_encrypted_connection() {
    let folder = certificates();
    let world = world(&folder, true).await;
    let connector = Connector { address: world.grpc(), folder: folder.path().to_owned() };
    let channel = Endpoint::from_static("http://localhost").connect_with_connector(connector).await.unwrap();
    let mut client = RateLimitServiceClient::new(channel);
    let entry = Entry { key: "api_key".to_owned(), value: "k".to_owned() };
    let descriptors = vec![RateLimitDescriptor { entries: vec![entry], ..RateLimitDescriptor::default() }];
    let request = RateLimitRequest { domain: "api".to_owned(), descriptors, ..RateLimitRequest::default() };
    let answer = client.should_rate_limit(request).await.unwrap().into_inner();
    assert_eq!(answer.overall_code(), Code::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_must_show_a_certificate_is_not_answered_without() {
    let (folder, stranger) = (certificates(), certificates());
    let world = world(&folder, true).await;
    assert_eq!(status(world.http(), folder.path(), true).await.unwrap(), "HTTP/1.1 200 OK");
    status(world.http(), folder.path(), false).await.unwrap_err();
    // Somebody else's authority vouches for this one.
    std::fs::copy(folder.path().join("ca.crt"), stranger.path().join("ca.crt")).unwrap();
    status(world.http(), stranger.path(), true).await.unwrap_err();
    let metrics = "GET /metrics HTTP/1.1\r\nhost: localhost\r\n";
    let turned_away = "ratelimit_callers_refused_total{door=\"http\",reason=\"handshake\"} 2\n";
    let counted = async {
        while !answer_to(world.admin(), (folder.path(), true), metrics).await.unwrap().contains(turned_away) {
        }
    };
    timeout(CEILING, counted).await.expect("those who are turned away are not counted");
    for way in ways(&world) {
        assert!(answers(way, folder.path(), true).await, "{way:?}");
        assert!(!answers(way, folder.path(), false).await, "{way:?}");
        assert!(!answers(way, stranger.path(), true).await, "{way:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_begins_and_falls_silent_keeps_nobody_else_waiting() {
    let folder = certificates();
    let world = world(&folder, false).await;
    // More than have turns at once, on however many cores; and all are there before the honest one comes.
    let mut silent = Vec::new();
    for count in 0..300 {
        silent.push(fall_silent(world.http(), folder.path(), count % 2 == 0).await);
    }
    // Sooner than they are given up.
    let answered = timeout(Duration::from_secs(8), status(world.http(), folder.path(), false)).await;
    assert_eq!(answered.expect("it waits for those who say nothing").unwrap(), "HTTP/1.1 200 OK");
    drop(silent);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_begins_and_falls_silent_does_not_hold_up_a_stop() {
    let folder = certificates();
    let world = world(&folder, false).await;
    let _silent = fall_silent(world.http(), folder.path(), false).await;
    let _greeted = fall_silent(world.http(), folder.path(), true).await;
    // Those who came before it are there as well.
    assert_eq!(status(world.http(), folder.path(), false).await.unwrap(), "HTTP/1.1 200 OK");
    // Sooner than they are given up.
    let stopped = timeout(Duration::from_secs(8), world.server.stop()).await;
    assert_eq!(stopped.expect("it waits for those who say nothing"), Stopped::Drained);
}

/// Changes a file in one step.
fn swap(folder: &Path, name: &str, bytes: &[u8]) {
    let draft = folder.join("draft");
    std::fs::write(&draft, bytes).unwrap();
    std::fs::rename(draft, folder.join(name)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn new_certificates_are_taken() {
    let (folder, newer) = (certificates(), certificates());
    let world = world(&folder, false).await;
    assert_eq!(status(world.http(), folder.path(), false).await.unwrap(), "HTTP/1.1 200 OK");
    for name in ["server.key", "server.crt"] {
        swap(folder.path(), name, &std::fs::read(newer.path().join(name)).unwrap());
    }
    let renewed = async { while status(world.http(), newer.path(), false).await.is_err() {} };
    timeout(CEILING, renewed).await.expect("the new certificate is never shown");
    for way in ways(&world) {
        let renewed = async { while !answers(way, newer.path(), false).await {} };
        timeout(CEILING, renewed).await.expect("the new certificate is never shown");
        assert!(!answers(way, folder.path(), false).await, "{way:?}");
    }
}

/// Who may ask is exchanged while it runs: callers of the old authority are not answered any more, those of the new one are.
#[tokio::test(flavor = "multi_thread")]
async fn new_client_authorities_are_taken() {
    let (folder, newer) = (certificates(), certificates());
    let world = world(&folder, true).await;
    let former = tempfile::tempdir().unwrap();
    for name in ["ca.crt", "client.crt", "client.key"] {
        std::fs::copy(folder.path().join(name), former.path().join(name)).unwrap();
    }
    let authority = std::fs::read(newer.path().join("ca.crt")).unwrap();
    // All callers know the server by its own authority.
    std::fs::copy(folder.path().join("ca.crt"), newer.path().join("ca.crt")).unwrap();
    let asks = async |caller: &TempDir| status(world.http(), caller.path(), true).await;
    assert_eq!(asks(&former).await.unwrap(), "HTTP/1.1 200 OK");
    asks(&newer).await.unwrap_err();
    swap(folder.path(), "ca.crt", &authority);
    let renewed = async { while asks(&newer).await.is_err() {} };
    timeout(CEILING, renewed).await.expect("the new authority is never believed");
    asks(&former).await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_does_not_start_with_half_of_what_it_needs() {
    let folder = certificates();
    let mut half = config();
    half.tls.files.certificate = Some(folder.path().join("server.crt"));
    assert!(matches!(start(&half).await, Err(Error::Net(tidegate_net::Error::HalfTls { .. }))));
    half.tls.files.private_key = Some(folder.path().join("server.csr"));
    let Err(error) = start(&half).await else { panic!("it started without a key") };
    assert!(error.to_string().contains("tls.private_key"), "{error}");
    half.tls.files.private_key = Some(folder.path().join("none"));
    assert!(matches!(start(&half).await, Err(Error::Net(tidegate_net::Error::Tls { .. }))));
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_that_nobody_has_to_show_open_no_admin_door() {
    let folder = certificates();
    let mut open = config();
    open.tls.files.certificate = Some(folder.path().join("server.crt"));
    open.tls.files.private_key = Some(folder.path().join("server.key"));
    open.tls.files.client_authorities = Some(folder.path().join("ca.crt"));
    open.tls.files.clients = ClientCertificates::Optional;
    open.tls.doors = vec!["admin"];
    open.listen.admin = Some("0.0.0.0:0".parse().unwrap());
    assert!(matches!(start(&open).await, Err(Error::AdminExposed { .. })));
}

/// On an encrypted admin door, whoever has shown a certificate may call it by any name; but a page of another site, which borrows
/// the browser's certificate, changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn certificates_open_the_admin_door_under_its_own_name() {
    let folder = certificates();
    let (open, closed) = (world(&folder, true).await, world(&folder, false).await);
    for (request, to_shown, to_others) in [
        ("GET /metrics HTTP/1.1\r\nhost: limits.example\r\n", "200 OK", "421 Misdirected Request"),
        (
            "POST /admin/v1/reload HTTP/1.1\r\nhost: limits.example\r\norigin: https://limits.example\r\ncontent-length: 0\r\n",
            "200 OK",
            "421 Misdirected Request",
        ),
        (
            "POST /admin/v1/reload HTTP/1.1\r\nhost: limits.example\r\norigin: https://evil.example\r\ncontent-length: 0\r\n",
            "403 Forbidden",
            "421 Misdirected Request",
        ),
    ] {
        for (world, shows, expected) in [(&open, true, to_shown), (&closed, false, to_others)] {
            let answer = status_of(world.admin(), (folder.path(), shows), request).await.unwrap();
            assert_eq!(answer, format!("HTTP/1.1 {expected}"), "{request}");
        }
    }
}
