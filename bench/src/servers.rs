//! Servers that are set beside each other. Each is a process of its own, which ends with this one.

mod empty;
mod limitador;
mod node;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tidegate_rig::Server;
use tidegate_rig::patience::within;

pub(crate) use self::empty::{Layout, serve as serve_empty};
pub(crate) use self::limitador::serve as serve_limitador;
use crate::usage;

/// The name that `go install` gives envoyproxy/ratelimit's server.
const RATELIMIT: &str = "service_cmd";

const THROTTLECRAB: &str = "throttlecrab-server";

const LIMITADOR: &str = "limitador-server";

/// The limit of its own that limitador's server gets: as many by user as everybody else's rules let pass.
const LIMITADOR_LIMITS: &str = "- { namespace: bench, max_value: 1000000, seconds: 3600, conditions: [], variables: [\"descriptors[0]['user']\"] }\n";

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(30);

/// Any free port of this machine.
const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

pub(crate) struct Process {
    child: Child,
    /// gRPC, HTTP and the Redis protocol, as far as it speaks them.
    addresses: Vec<SocketAddr>,
}

impl Process {
    /// Our server, with these rules.
    pub(crate) fn tidegate(store: &str, rules: &Path, runtime: &str) -> Result<Self> {
        node::start(store, rules, runtime)
    }

    /// A service that lets everything pass and does nothing else.
    pub(crate) fn empty(layout: Layout) -> Result<Self> {
        Self::own(&["empty".as_ref(), layout.word().as_ref()])
    }

    /// limitador's library behind a service as its own: on one thread, in memory.
    pub(crate) fn limitador_library() -> Result<Self> {
        Self::own(&["limitador".as_ref()])
    }

    /// limitador's own server, counters in memory, if it is there.
    pub(crate) fn limitador(folder: &Path) -> Result<Option<Self>> {
        let Some(program) = found(LIMITADOR) else { return Ok(None) };
        let limits = folder.join("limitador.yaml");
        std::fs::write(&limits, LIMITADOR_LIMITS)?;
        let (grpc, http) = (free_address()?, free_address()?);
        let mut command = Command::new(program);
        command.args(["-b", "127.0.0.1", "-p", &grpc.port().to_string()]);
        command.args(["-B", "127.0.0.1", "-P", &http.port().to_string()]);
        command.arg(limits).arg("memory");
        Self::other(command, vec![grpc, http]).map(Some)
    }

    /// throttlecrab's server, if it is there.
    pub(crate) fn throttlecrab() -> Result<Option<Self>> {
        let Some(program) = found(THROTTLECRAB) else { return Ok(None) };
        let addresses = [free_address()?, free_address()?, free_address()?];
        let mut command = Command::new(program);
        for (door, address) in ["grpc", "http", "redis"].iter().zip(addresses) {
            command.arg(format!("--{door}"));
            command.arg(format!("--{door}-host={}", address.ip()));
            command.arg(format!("--{door}-port={}", address.port()));
        }
        command.args(["--store=adaptive", "--store-capacity=200000", "--log-level=error"]);
        Self::other(command, addresses.to_vec()).map(Some)
    }

    /// envoyproxy/ratelimit's server over a Redis of its own, if it is there.
    pub(crate) fn ratelimit(server: &Server, folder: &Path) -> Result<Option<Self>> {
        let Some(program) = found(RATELIMIT) else { return Ok(None) };
        let address = free_address()?;
        let mut command = Command::new(program);
        command
            .envs([("HOST", "127.0.0.1"), ("GRPC_HOST", "127.0.0.1"), ("DEBUG_HOST", "127.0.0.1")])
            .env("PORT", free_address()?.port().to_string())
            .env("DEBUG_PORT", free_address()?.port().to_string())
            .env("GRPC_PORT", address.port().to_string())
            .envs([("LOG_LEVEL", "error"), ("USE_STATSD", "false"), ("RUNTIME_WATCH_ROOT", "false")])
            .env("RUNTIME_ROOT", folder)
            .envs([("REDIS_SOCKET_TYPE", "tcp".to_owned()), ("REDIS_URL", server.address())]);
        Self::other(command, vec![address]).map(Some)
    }

    /// This program under other words: it says where it listens, and ends with its input.
    fn own(words: &[&OsStr]) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("it has an output")?).read_line(&mut line)?;
        let addresses = line.split_whitespace().map(str::parse).collect::<Result<Vec<_>, _>>()?;
        let process = Self { child, addresses };
        if process.addresses.is_empty() {
            bail!("{} does not start", words[0].display());
        }
        Ok(process)
    }

    /// Another's program, once it listens everywhere.
    fn other(mut command: Command, addresses: Vec<SocketAddr>) -> Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let process = Self { child, addresses };
        for address in &process.addresses {
            within(PATIENCE, || TcpStream::connect(address).ok())
                .with_context(|| format!("{} does not answer", command.get_program().display()))?;
        }
        Ok(process)
    }

    pub(crate) fn grpc(&self) -> SocketAddr {
        self.addresses[0]
    }

    pub(crate) fn http(&self) -> SocketAddr {
        self.addresses[1]
    }

    pub(crate) fn resp(&self) -> SocketAddr {
        self.addresses[2]
    }

    /// Microseconds of processor time so far.
    pub(crate) fn used(&self) -> Result<f64> {
        usage::of_process(self.child.id())
    }

    /// The same of each thread whose name begins so.
    pub(crate) fn used_by_threads(&self, name: &str) -> Result<Vec<f64>> {
        usage::of_threads(self.child.id(), name)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A program among the project's tools, or on the path.
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(tools).chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(program)).find(|program| program.is_file())
}

/// What is said where a peer is not there: how to get it.
pub(crate) fn how_to_get_ratelimit() -> &'static str {
    "envoyproxy/ratelimit is left out: there is no `service_cmd` in target/tools/bin or on the path. Where Go can be had:\n\n```sh\n\
     GOBIN=$PWD/target/tools/bin go install github.com/envoyproxy/ratelimit/src/service_cmd@latest\n```\n"
}

/// The same of throttlecrab.
pub(crate) fn how_to_get_throttlecrab() -> &'static str {
    "throttlecrab is left out: there is no `throttlecrab-server` in target/tools/bin or on the path (it is built with `protoc`; Debian: \
     `apt-get install protobuf-compiler`):\n\n```sh\n\
     cargo install --locked --root target/tools throttlecrab-server@0.4.40\n```\n"
}

/// The same of limitador.
pub(crate) fn how_to_get_limitador() -> &'static str {
    "limitador's server is left out: there is no `limitador-server` in target/tools/bin or on the path. It is no package; where its \
     repository can be had (it is built with `protoc`, `libclang`, `perl` and `make`):\n\n```sh\n\
     cargo install --locked --root target/tools --git https://github.com/Kuadrant/limitador --tag v2.4.0 limitador-server\n```\n"
}

fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind(ANY)?.local_addr()?)
}

/// What a child does once it listens: it says where, and lives as long as its input.
fn stay(addresses: &[SocketAddr]) -> Result<()> {
    let words: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    println!("{}", words.join(" "));
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
