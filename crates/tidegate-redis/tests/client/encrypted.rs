//! TLS: servers that prove who they are, and clients that must.

use tempfile::TempDir;
use tidegate_redis::Fault;
use tidegate_redis::client::{Certificates, OpenError, Settings};
use tidegate_redis::{CallError, Client};
use tidegate_rig::{Options, Server, certificates};

use crate::stage::{client, client_with, count, fails_with, ready, turn};

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
    let own = (folder.path().join("client.crt"), folder.path().join("client.key"));
    assert_eq!(one_with(&server, Certificates { own: Some(own), ..trusting(&folder) }).await, Ok(1));
    let without = client_with(&url(&server), |settings| settings.certificates = trusting(&folder));
    fails_with(&without, "a", Fault::Disconnected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_certificate_is_told_at_once() {
    let certificates = Certificates { authorities: Some("/nowhere/ca.crt".into()), own: None };
    let settings = Settings { certificates, ..Settings::default() };
    let address = "rediss://localhost".parse().unwrap();
    let opened = Client::open(address, settings, &tokio::runtime::Handle::current());
    assert!(matches!(opened, Err(OpenError::Certificate { .. })));
}
