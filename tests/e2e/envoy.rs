//! A real Envoy between a client and the upstream, asking our gRPC door for each request.

mod config;

use std::net::SocketAddr;

use serde_json::Value;
use tokio::process::Command;

use crate::client::{self, Answer};
use crate::folder::Folder;
use crate::patience::{until, within};
use crate::program::{Program, installed};
use crate::upstream::Upstream;

pub(crate) use config::{Settings, header};

/// A running Envoy with its upstream.
pub(crate) struct Envoy {
    program: Program,
    pub(crate) upstream: Upstream,
    address: SocketAddr,
    admin: SocketAddr,
    _folder: Folder,
}

impl Envoy {
    /// Starts one that asks the door at `door`.
    pub(crate) async fn start(door: SocketAddr, settings: &Settings) -> Self {
        let folder = Folder::new();
        let upstream = Upstream::start().await;
        folder.write("envoy.json", &config::whole(door, upstream.address, settings).to_string());
        let program = Program::start(command(&folder));
        let admin = admin_address(&folder, &program).await;
        let address = listener(admin).await;
        Self { program, upstream, address, admin, _folder: folder }
    }

    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        client::get(self.address, path, headers).await
    }

    /// A request with this key and nothing else.
    pub(crate) async fn ask(&self, api_key: &str) -> Answer {
        self.get("/", &[("x-api-key", api_key)]).await
    }

    /// The value of one of Envoy's own counters or gauges.
    pub(crate) async fn stat(&self, name: &str) -> u64 {
        let answer =
            client::get(self.admin, &format!("/stats?format=json&filter=^{name}$"), &[]).await.expect(200);
        answer.json()["stats"][0]["value"].as_u64().unwrap_or(0)
    }

    /// Everything Envoy has said.
    pub(crate) fn said(&self) -> String {
        self.program.said()
    }
}

fn command(folder: &Folder) -> Command {
    let mut command = Command::new(installed("envoy/bin/envoy"));
    command.args(["--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"]);
    command.arg("--admin-address-path").arg(folder.file("admin")).arg("-c").arg(folder.file("envoy.json"));
    command
}

/// Envoy writes the address of its admin door to a file once it is bound.
async fn admin_address(folder: &Folder, program: &Program) -> SocketAddr {
    let read = async || std::fs::read_to_string(folder.file("admin")).ok()?.trim().parse().ok();
    let bound = until("Envoy's admin door", read);
    tokio::select! {
        address = bound => address,
        () = program.silence() => panic!("Envoy ended:\n{}", program.said()),
    }
}

/// The listener's address once Envoy is live.
async fn listener(admin: SocketAddr) -> SocketAddr {
    let live = async || {
        let request = client::request("GET", "/ready", &[], String::new());
        client::try_send(admin, request).await.ok().filter(|answer| answer.status == 200)
    };
    until("Envoy to be live", live).await;
    let listeners =
        within("Envoy's listeners", client::get(admin, "/listeners?format=json", &[])).await.json();
    let bound: &Value = &listeners["listener_statuses"][0]["local_address"]["socket_address"];
    format!("127.0.0.1:{}", bound["port_value"]).parse().unwrap_or_else(|_| panic!("{listeners}"))
}
