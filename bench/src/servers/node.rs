//! Our server as users have it: the program itself, built anew where anything has changed since.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, ensure};

use super::{PATIENCE, Process};

/// Its doors, in the order in which they are wanted.
const DOORS: [&str; 3] = ["grpc", "http", "resp"];

/// Starts it with these rules and waits until all doors are open. It has `memory` or the Redis at an address.
pub(super) fn start(store: &str, rules: &Path, runtime: &str) -> Result<Process> {
    let mut command = Command::new(program()?);
    command.args([
        "serve",
        "--admin=off",
        "--checkpoint=off",
        "--store",
        store,
        "--runtime",
        runtime,
        "--rules",
    ]);
    command.arg(rules).args(DOORS.map(|door| format!("--{door}=127.0.0.1:0")));
    // Nobody is to be late, however busy the machine is.
    command.env_clear().env("TIDEGATE_REDIS_DEADLINE", "5s");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let said = child.stderr.take().context("it has an output for errors")?;
    let (tell, told) = channel();
    thread::spawn(move || listen(said, &tell));
    let mut process = Process { child, addresses: Vec::new() };
    let mut open = Vec::new();
    while open.len() < DOORS.len() {
        open.push(told.recv_timeout(PATIENCE).context("our server does not open its doors")?);
    }
    open.sort_by_key(|(door, _)| *door);
    process.addresses = open.into_iter().map(|(_, address)| address).collect();
    Ok(process)
}

/// Tells where it listens, and reads on so that it is never stopped from saying more.
fn listen(said: impl Read, tell: &Sender<(usize, SocketAddr)>) {
    for line in BufReader::new(said).lines().map_while(Result::ok) {
        let word = |name: &str| line.split_once(name)?.1.split_whitespace().next();
        let door = word(" door=").and_then(|door| DOORS.iter().position(|known| *known == door));
        let address = word(" addr=").and_then(|address| address.parse().ok());
        if let Some(open) = door.zip(address) {
            // Nobody waits for more than there are.
            tell.send(open).ok();
        }
    }
}

/// The program, which cargo has looked after once.
fn program() -> Result<PathBuf> {
    static BUILT: Mutex<bool> = Mutex::new(false);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if !*built {
        eprintln!("our server: cargo build --release -p tidegate-cli");
        let mut cargo = Command::new("cargo");
        cargo.args([
            "build",
            "--quiet",
            "--locked",
            "--release",
            "-p",
            "tidegate-cli",
            "--target-dir",
            "target",
        ]);
        ensure!(cargo.current_dir(&root).status()?.success(), "our server cannot be built");
        *built = true;
    }
    Ok(root.join("target/release/tidegate"))
}
