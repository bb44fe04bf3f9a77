//! The processes of services, which end with this one.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tidegate_rig::Server;
use tidegate_rig::patience::within;
use tidegate_server::Config;
use tidegate_server::config::{Listen, Redis, StoreKind};

/// The name that `go install` gives envoyproxy/ratelimit's server.
const RATELIMIT: &str = "service_cmd";

pub(super) struct Process {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Process {
    /// This program as our server.
    pub(super) fn tidegate(server: &Server, folder: &Path) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("node")
            .arg(server.url())
            .arg(folder.join("config"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("it has an output")?).read_line(&mut line)?;
        Ok(Self { child, address: line.trim().parse().context("our server does not start")? })
    }

    pub(super) fn ratelimit(server: &Server, folder: &Path) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let child = Command::new(ratelimit().context("it was there just now")?)
            .envs([("HOST", "127.0.0.1"), ("GRPC_HOST", "127.0.0.1"), ("DEBUG_HOST", "127.0.0.1")])
            .env("PORT", free_port()?.to_string())
            .env("DEBUG_PORT", free_port()?.to_string())
            .env("GRPC_PORT", address.port().to_string())
            .envs([("LOG_LEVEL", "error"), ("USE_STATSD", "false"), ("RUNTIME_WATCH_ROOT", "false")])
            .env("RUNTIME_ROOT", folder)
            .envs([("REDIS_SOCKET_TYPE", "tcp".to_owned()), ("REDIS_URL", server.address())])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let process = Self { child, address };
        match within(Duration::from_secs(30), || TcpStream::connect(address).ok()) {
            Some(_) => Ok(process),
            None => bail!("envoyproxy/ratelimit does not answer"),
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// envoyproxy/ratelimit's server: among the project's tools, or on the path.
pub(super) fn ratelimit() -> Option<PathBuf> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(tools).chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(RATELIMIT)).find(|program| program.is_file())
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// What a child does that is our server: it says where its gRPC door is, and ends with its input.
pub(crate) fn serve(store: &str, rules: PathBuf) -> Result<()> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let config = Config {
        listen: Listen { grpc: Some(any), http: None, resp: None, admin: None },
        rules: Some(rules),
        store: StoreKind::Redis(store.parse()?),
        // Nobody is to be late, however busy the machine is.
        redis: Redis { deadline: Duration::from_secs(5), ..Redis::default() },
        ..Config::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let running = runtime.block_on(tidegate_server::start(&config))?;
    println!("{}", running.addresses().grpc.context("it has a gRPC door")?);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
