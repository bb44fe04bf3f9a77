//! The door that speaks the Redis protocol, asked by programs and libraries that were made for Redis.

mod command_line;
mod libraries;
mod documented;

use std::net::SocketAddr;
use std::path::Path;

use tokio::process::Command;

use crate::folder::Folder;
use crate::patience::within;
use crate::tidegate::{self, Tidegate, serve};

const RULES: &str = "domain: api
rules:
  - { name: per-key, by: [api_key], limit: 3/hour }
  - { name: exports, match: { path: /export }, by: [api_key], limit: 1 concurrent }
";

/// A server with that door open; where it is.
async fn open() -> (Tidegate, SocketAddr) {
    open_with(&[]).await
}

async fn open_with_rules(rules: &str) -> (Tidegate, SocketAddr) {
    start(Folder::of(rules), &[]).await
}

async fn open_with(settings: &[(&str, &str)]) -> (Tidegate, SocketAddr) {
    start(Folder::of(RULES), settings).await
}

async fn start(rules: Folder, settings: &[(&str, &str)]) -> (Tidegate, SocketAddr) {
    let mut command = serve(&["--resp", "127.0.0.1:0"], Some(rules.path()));
    command.envs(settings.iter().copied());
    let server = Tidegate::from(command, rules).await;
    let address = tidegate::door(&server.program, "resp").await;
    (server, address)
}

/// What a program prints that asks that address.
async fn printed(program: &Path, address: SocketAddr, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(["-h", &address.ip().to_string(), "-p", &address.port().to_string()]).args(arguments);
    let output = within("its end", command.kill_on_drop(true).output()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}
