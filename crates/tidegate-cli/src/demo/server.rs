//! The server of the demo: this same program, on free ports, with rules of its own.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// What the demo's callers are held to.
const RULES: &str = include_str!("rules.yaml");

/// A running server; it ends with this.
pub(super) struct Server {
    child: Child,
    pub(super) http: String,
    pub(super) admin: String,
    _folder: Folder,
}

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Starts it and waits until it says where it listens.
pub(super) fn start() -> Result<Server> {
    let folder = Folder(std::env::temp_dir().join(format!("tidegate-demo-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).context("cannot make a folder for the rules")?;
    std::fs::write(folder.0.join("demo.yaml"), RULES).context("cannot write the rules")?;
    let mut child = Command::new(std::env::current_exe().context("cannot find this program")?)
        .args([
            "serve",
            "--log-format",
            "json",
            "--http",
            "127.0.0.1:0",
            "--grpc",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
            "--checkpoint",
            "off",
            "--rules",
        ])
        .arg(&folder.0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start the server")?;
    let mut lines = BufReader::new(child.stderr.take().context("the server has no voice")?).lines();
    let (mut http, mut admin) = (None, None);
    let mut heard = String::new();
    while http.is_none() || admin.is_none() {
        let Some(Ok(line)) = lines.next() else { bail!("the server did not start:\n{heard}") };
        match listening(&line) {
            Some(("http", address)) => http = Some(address),
            Some(("admin", address)) => admin = Some(address),
            _ => heard = heard + &line + "\n",
        }
    }
    // What it says later is let go, so that it never waits for a reader.
    std::thread::spawn(move || lines.for_each(drop));
    Ok(Server { child, http: http.unwrap_or_default(), admin: admin.unwrap_or_default(), _folder: folder })
}

/// The door and the address of a line that says where one listens.
fn listening(line: &str) -> Option<(&'static str, String)> {
    let said: serde_json::Value = serde_json::from_str(line).ok()?;
    let fields = said.get("fields").unwrap_or(&said);
    let address = fields.get("addr")?.as_str()?.to_owned();
    match fields.get("door")?.as_str()? {
        "http" => Some(("http", address)),
        "admin" => Some(("admin", address)),
        _ => Some(("other", address)),
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
