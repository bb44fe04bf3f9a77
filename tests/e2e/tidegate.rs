//! `tidegate serve` on ports of the system's choosing, with a folder of rules.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::client::{self, Answer};
use crate::folder::Folder;
use crate::program::Program;

/// A running server.
pub(crate) struct Tidegate {
    pub(crate) program: Program,
    pub(crate) rules: Folder,
    pub(crate) grpc: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) admin: SocketAddr,
}

impl Tidegate {
    /// With one file of rules.
    pub(crate) async fn with(rules: &str) -> Self {
        Self::start(Folder::of(rules)).await
    }

    pub(crate) async fn start(rules: Folder) -> Self {
        Self::start_at("127.0.0.1:0", rules).await
    }

    /// With the gRPC door at an address.
    pub(crate) async fn start_at(grpc: &str, rules: Folder) -> Self {
        Self::from(serve(&["--grpc", grpc], Some(rules.path())), rules).await
    }

    /// With settings, by their variables.
    pub(crate) async fn set_up(rules: Folder, settings: &[(&str, &str)]) -> Self {
        let mut command = serve(&[], Some(rules.path()));
        command.envs(settings.iter().copied());
        Self::from(command, rules).await
    }

    pub(crate) async fn from(command: Command, rules: Folder) -> Self {
        let program = Program::start(command);
        let grpc = door(&program, "grpc").await;
        let http = door(&program, "http").await;
        let admin = door(&program, "admin").await;
        Self { program, rules, grpc, http, admin }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        client::get(self.http, path, &[]).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl ToString) -> Answer {
        client::post(self.http, path, body).await
    }

    /// Asks whether a request with this key may pass.
    pub(crate) async fn check(&self, api_key: &str) -> Answer {
        self.post("/v1/check", of(api_key)).await
    }

    /// What is left of the first limit for a key, without taking any of it.
    pub(crate) async fn left(&self, api_key: &str) -> u64 {
        let answer = self.post("/v1/peek", of(api_key)).await.expect(200);
        answer.json()["limits"][0]["remaining"].as_u64().unwrap_or_else(|| panic!("{answer:?}"))
    }

    /// The version of the rules in force.
    pub(crate) async fn snapshot(&self) -> u64 {
        let answer = self.post("/v1/peek", of("nobody")).await.expect(200);
        answer.json()["snapshot"].as_u64().unwrap_or_else(|| panic!("{answer:?}"))
    }

    pub(crate) async fn metrics(&self) -> String {
        client::get(self.admin, "/metrics", &[]).await.expect(200).body
    }
}

/// The question of a request with this key in the domain `api`.
pub(crate) fn of(api_key: &str) -> Value {
    json!({ "domain": "api", "attributes": { "api_key": api_key } })
}

/// The command that serves, with every door on a free port unless an argument says otherwise.
pub(crate) fn serve(arguments: &[&str], rules: Option<&Path>) -> Command {
    let mut command = tidegate(&["serve", "--log-format", "json"]);
    for door in ["--grpc", "--http", "--admin"] {
        if !arguments.contains(&door) {
            command.args([door, "127.0.0.1:0"]);
        }
    }
    if let Some(rules) = rules {
        command.arg("--rules").arg(rules);
    }
    command.args(arguments);
    command
}

/// The binary with its arguments, and nothing of our surroundings that could sway it.
pub(crate) fn tidegate(arguments: &[&str]) -> Command {
    let mut command = unswayed(env!("CARGO_BIN_EXE_tidegate"));
    command.args(arguments);
    command
}

/// The binary, or what starts it, with nothing of our surroundings that could sway it.
pub(crate) fn unswayed(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDEGATE_")) {
        command.env_remove(name);
    }
    // Tests run side by side, and leave nothing in the home folder.
    command.env("TIDEGATE_CHECKPOINT_PATH", "off");
    command.env("NO_COLOR", "1").env_remove("COLUMNS");
    command
}

/// The address of a door, as the server says it.
pub(crate) async fn door(program: &Program, name: &str) -> SocketAddr {
    program.line(&format!("the address of the door {name}"), |line| address(line, name)).await
}

/// Reads the line on which a server says where a door listens, in text or JSON.
fn address(line: &str, door: &str) -> Option<SocketAddr> {
    let mut words = line.split(|character: char| " \t\",={}/".contains(character));
    let said = words.clone().any(|word| word == "listening") && words.clone().any(|word| word == door);
    if said { words.find_map(|word| word.parse().ok()) } else { None }
}

#[test]
fn the_address_of_a_door_is_read_in_text_and_in_json() {
    let expected = Some("127.0.0.1:41234".parse().unwrap());
    assert_eq!(address("12:00:01 INFO listening door=grpc addr=127.0.0.1:41234", "grpc"), expected);
    assert_eq!(
        address(r#"{"message":"listening","door":"grpc","addr":"127.0.0.1:41234"}"#, "grpc"),
        expected
    );
    assert_eq!(address("listening door=http addr=127.0.0.1:41234", "grpc"), None);
}
