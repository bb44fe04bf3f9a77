//! A real proxy with exactly the configuration that `tidegate snippet` prints, between a client and the upstream.

use std::net::{SocketAddr, TcpListener};

use tokio::process::Command;

use crate::client;
use crate::command_line::run;
use crate::folder::Folder;
use crate::patience::until;
use crate::program::{Program, installed};
use crate::tidegate::Tidegate;

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Envoy,
    Nginx,
    Caddy,
    Traefik,
    Haproxy,
}

/// A running proxy.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    program: Program,
    _folder: Folder,
}

impl Proxy {
    /// Starts one in front of an upstream. If somebody takes its port before it does, another one is tried.
    pub(crate) async fn start(kind: Kind, tidegate: &Tidegate, upstream: SocketAddr) -> Self {
        let mut said = Vec::new();
        for _ in 0..5 {
            match Self::try_start(kind, tidegate, upstream).await {
                Ok(proxy) => return proxy,
                Err(ended) => said.push(ended),
            }
        }
        panic!("{kind:?} does not start: {said:#?}");
    }

    async fn try_start(kind: Kind, tidegate: &Tidegate, upstream: SocketAddr) -> Result<Self, String> {
        let (folder, address) = (Folder::new(), kind.free());
        let door = if kind == Kind::Envoy { tidegate.grpc } else { tidegate.http };
        let said = format!("--tidegate {door} --upstream {upstream} --listen {address}");
        let printed = async |name: &str| {
            let ended = run(&folder, &format!("snippet {name} {said}")).await;
            assert_eq!((ended.code, ended.said.as_str()), (Some(0), ""), "{ended:?}");
            ended.printed
        };
        for (name, file) in kind.files() {
            folder.write(file, &printed(name).await);
        }
        let program = Program::start(kind.command(&folder));
        // Traefik listens before it has read its file, and finds nothing then.
        let listens = async || {
            let request = client::request("GET", "/", &[], String::new());
            client::try_send(address, request).await.ok().filter(|answer| answer.status != 404)
        };
        tokio::select! {
            _ = until("the proxy to listen", listens) => {}
            () = program.silence() => return Err(program.said()),
        }
        Ok(Self { address, program, _folder: folder })
    }

    /// Everything that it has said.
    pub(crate) fn said(&self) -> String {
        self.program.said()
    }
}

impl Kind {
    /// What `tidegate snippet`, its guide and its program are called by.
    pub(crate) fn name(self) -> &'static str {
        self.files()[0].0
    }

    /// What is printed for it, and where that goes.
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Envoy => &[("envoy", "envoy.yaml")],
            Self::Nginx => &[("nginx", "tidegate.conf")],
            Self::Caddy => &[("caddy", "Caddyfile")],
            Self::Traefik => &[("traefik", "tidegate.yaml")],
            Self::Haproxy => &[("haproxy", "tidegate.cfg"), ("haproxy-lua", "tidegate.lua")],
        }
    }

    /// An address that nobody has. On Linux every address of 127/8 is ours, and each kind has its own.
    fn free(self) -> SocketAddr {
        let last = if cfg!(target_os = "linux") { 20 + self as u8 } else { 1 };
        let free = |address: SocketAddr| TcpListener::bind(address).and_then(|one| one.local_addr());
        loop {
            let address = free(([127, 0, 0, last], 0).into()).unwrap();
            // Traefik takes the next one as well.
            let next = address.port().checked_add(1);
            if next.is_some_and(|next| free(([127, 0, 0, 1], next).into()).is_ok()) {
                return address;
            }
        }
    }

    fn command(self, folder: &Folder) -> Command {
        let mut command = match self {
            Self::Envoy => envoy(self.as_its_file_says(folder)),
            Self::Nginx => nginx(folder),
            Self::Caddy => caddy(self.as_its_file_says(folder), folder),
            Self::Traefik => traefik(self.as_its_file_says(folder)),
            Self::Haproxy => self.as_its_file_says(folder),
        };
        command.current_dir(folder.path());
        command
    }

    /// Started by the line at the top of its file.
    fn as_its_file_says(self, folder: &Folder) -> Command {
        let (name, file) = self.files()[0];
        let text = std::fs::read_to_string(folder.file(file)).unwrap();
        let start = format!("#   {name} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&start)).expect("a line to start it with");
        let place = if self == Self::Envoy { "envoy/bin" } else { "bin" };
        let mut command = Command::new(installed(&format!("{place}/{name}")));
        command.args(line.split(' '));
        command
    }
}

fn envoy(mut command: Command) -> Command {
    command.args(["--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"]);
    command
}

/// What is printed is included where a system's own configuration would include it.
fn nginx(folder: &Folder) -> Command {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = temporary.map(|name| format!("{name}_temp_path {name};")).join(" ");
    let whole = format!("events {{}} http {{ access_log off; {temporary} include tidegate.conf; }}");
    folder.write("nginx.conf", &whole);
    let mut command = Command::new(installed("bin/nginx"));
    command.arg("-p").arg(folder.path()).args(["-c", "nginx.conf", "-e", "stderr"]);
    command.args(["-g", "daemon off; master_process off; pid nginx.pid; error_log stderr;"]);
    command
}

fn caddy(mut command: Command, folder: &Folder) -> Command {
    // Its admin door has a fixed port unless it is told otherwise: here a socket in its folder.
    command.env("CADDY_ADMIN", "unix/admin");
    for place in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env(place, folder.path());
    }
    command
}

fn traefik(mut command: Command) -> Command {
    command.args(["--global.checknewversion=false", "--log.level=WARN"]);
    command
}
