//! TLS: servers that prove who they are, and clients that must.

use tempfile::TempDir;
use tidegate_redis::Fault;
use tidegate_redis::client::{Certificates, OpenError, Settings};
use tidegate_redis::{CallError, Client};
use tidegate_rig::{Options, Server, certificates};

use crate::stage::{client, client_with, count, fails_with, ready, recovers, turn, until};

fn server(folder: &TempDir, clients: &str) -> Server {
    let options = Options { tls: Some(folder.path().to_owned()), ..Options::default() };
    Server::with(&options.line("tls-auth-clients", &clients))
}

fn url(server: &Server) -> String {
    format!("rediss://127.0.0.1:{}", server.tls_port())
}

fn trusting(folder: &TempDir) -> Certificates {
    Certificates { authorities: Some(folder.path().join("ca.crt")), own: None }
}

fn trusting_and_trusted(folder: &TempDir) -> Certificates {
    let own = (folder.path().join("client.crt"), folder.path().join("client.key"));
    Certificates { own: Some(own), ..trusting(folder) }
}

/// Has the server prove itself by, and trust, another authority from now on.
fn rotate_server(server: &Server, to: &TempDir) {
    let at = |name: &str| to.path().join(name).display().to_string();
    let (authority, certificate, key) = (at("ca.crt"), at("server.crt"), at("server.key"));
    let names = ["tls-ca-cert-file", "tls-cert-file", "tls-key-file"];
    let words = ["CONFIG", "SET", names[0], &authority, names[1], &certificate, names[2], &key];
    server.ask::<()>(&words);
}

/// Puts the files of another authority where a client looks.
fn rotate_client(at: &TempDir, to: &TempDir) {
    for name in ["ca.crt", "client.crt", "client.key"] {
        std::fs::copy(to.path().join(name), at.path().join(name)).unwrap();
    }
}

/// How many connections the server has seen, this question's included.
fn connections(server: &Server) -> u64 {
    let counted = |line: &str| line.strip_prefix("total_connections_received:")?.trim().parse().ok();
    server.ask::<String>(&["INFO", "stats"]).lines().find_map(counted).unwrap()
}

fn cut(server: &Server) {
    server.ask::<i64>(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
}

async fn one_with(server: &Server, certificates: Certificates) -> Result<i64, CallError> {
    let client = client_with(&url(server), |settings| settings.certificates = certificates);
    count(&ready(client).await, "a").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_vouched_for_is_trusted_and_others_are_not() {
    let _turn = turn().await;
    let folder = certificates();
    let server = server(&folder, "no");
    assert_eq!(one_with(&server, trusting(&folder)).await, Ok(1));
    fails_with(&client(&url(&server)), "a", Fault::Disconnected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_shows_its_own_certificate() {
    let _turn = turn().await;
    let folder = certificates();
    let server = server(&folder, "yes");
    assert_eq!(one_with(&server, trusting_and_trusted(&folder)).await, Ok(1));
    let without = client_with(&url(&server), |settings| settings.certificates = trusting(&folder));
    fails_with(&without, "a", Fault::Disconnected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_that_are_rotated_are_used_without_a_restart_and_without_a_failure() {
    let _turn = turn().await;
    let (folder, other) = (certificates(), certificates());
    let server = server(&folder, "yes");
    let client = client_with(&url(&server), |settings| settings.certificates = trusting_and_trusted(&folder));
    let client = ready(client).await;
    assert_eq!(count(&client, "a").await, Ok(1));
    rotate_server(&server, &other);
    rotate_client(&folder, &other);

    // A connection with the new ones takes the place of the old, and no call notices.
    let questions = std::cell::Cell::new(0);
    let before = connections(&server);
    until("a connection with the new certificates", async || {
        count(&client, "a").await.unwrap();
        questions.set(questions.get() + 1);
        (connections(&server) > before + questions.get()).then_some(())
    })
    .await;
    cut(&server);
    recovers(&client, "a").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_comes_back_shows_the_certificates_of_now() {
    let _turn = turn().await;
    let (folder, other) = (certificates(), certificates());
    let server = server(&folder, "yes");
    let client = client_with(&url(&server), |settings| settings.certificates = trusting_and_trusted(&folder));
    let client = ready(client).await;
    rotate_server(&server, &other);
    cut(&server);
    fails_with(&client, "a", Fault::Disconnected).await;
    rotate_client(&folder, &other);
    recovers(&client, "a").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_of_a_rotation_keeps_what_was() {
    let _turn = turn().await;
    let (folder, other) = (certificates(), certificates());
    let server = server(&folder, "yes");
    let client = client_with(&url(&server), |settings| settings.certificates = trusting_and_trusted(&folder));
    let client = ready(client).await;
    // A certificate whose key is still to come, and then half of the key.
    std::fs::copy(other.path().join("client.crt"), folder.path().join("client.crt")).unwrap();
    cut(&server);
    recovers(&client, "a").await;
    std::fs::write(folder.path().join("client.key"), "-----BEGIN PRIVATE KEY-----\nMIG").unwrap();
    cut(&server);
    recovers(&client, "a").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_that_cannot_be_used_are_told_at_once() {
    let (folder, other) = (certificates(), certificates());
    std::fs::copy(other.path().join("client.key"), folder.path().join("client.key")).unwrap();
    let settings = Settings { certificates: trusting_and_trusted(&folder), ..Settings::default() };
    let address = "rediss://localhost".parse().unwrap();
    let opened = Client::open(address, settings, &tokio::runtime::Handle::current());
    assert!(matches!(opened, Err(OpenError::Unusable { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_certificate_is_told_at_once() {
    let certificates = Certificates { authorities: Some("/nowhere/ca.crt".into()), own: None };
    let settings = Settings { certificates, ..Settings::default() };
    let address = "rediss://localhost".parse().unwrap();
    let opened = Client::open(address, settings, &tokio::runtime::Handle::current());
    assert!(matches!(opened, Err(OpenError::Certificate { .. })));
}
