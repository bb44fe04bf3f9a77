//! One server, with a folder and a port of its own.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use redis::{FromRedisValue, Value};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::patience::{until, within};
use crate::port;
use crate::program::{Program, installed};

/// Whose program it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flavour {
    /// `redis-server`, as Debian has it.
    #[default]
    Redis,
    /// `valkey-server`, as PyPI has it.
    Valkey,
}

/// What a server is told beyond the ordinary.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whose program it is.
    pub flavour: Flavour,
    /// Lines of its configuration: a name and a value.
    pub lines: Vec<(String, String)>,
    /// Whether it listens for the Cluster's other nodes.
    pub cluster: bool,
    /// Whether it is a sentinel.
    pub sentinel: bool,
    /// A folder with `ca.crt`, `server.crt` and `server.key`, if it is to speak TLS on a second port.
    pub tls: Option<std::path::PathBuf>,
}

impl Options {
    /// Adds a line of configuration.
    #[must_use]
    pub fn line(mut self, name: &str, value: &impl ToString) -> Self {
        self.lines.push((name.to_owned(), value.to_string()));
        self
    }
}

/// Nothing on disk, and replicas that follow at once: a Cluster does not show one that has not heard from its master.
const ORDINARY: &str = "save \"\"\nappendonly no\nprotected-mode no\nenable-debug-command yes\n\
                        repl-diskless-sync-delay 0\nrepl-ping-replica-period 1\n";

/// A running server, or one that was killed and can be started again at the same place.
pub struct Server {
    program: Option<Program>,
    options: Options,
    folder: TempDir,
    ports: Ports,
}

#[derive(Clone, Copy)]
struct Ports {
    plain: u16,
    bus: u16,
    tls: u16,
}

impl Server {
    /// A Redis that keeps nothing on disk and has no password.
    pub fn start() -> Self {
        Self::with(&Options::default())
    }

    /// The same with options of its own.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn with(options: &Options) -> Self {
        let mut folder = tempfile::tempdir().expect("there is room for temporary files");
        for _ in 0..20 {
            let ports = Ports { plain: port::free(), bus: port::free(), tls: port::free() };
            let mut server = Self { program: None, options: options.clone(), folder, ports };
            if server.tries_to_start() {
                return server;
            }
            folder = server.folder;
            drop(std::fs::remove_file(folder.path().join("settings.conf")));
        }
        panic!("the server did not start on any of twenty ports:\n{}", said(folder.path()))
    }

    /// The port of plain connections.
    pub fn port(&self) -> u16 {
        self.ports.plain
    }

    /// The port of connections with TLS.
    pub fn tls_port(&self) -> u16 {
        self.ports.tls
    }

    /// The port for other nodes of its Cluster.
    pub fn bus_port(&self) -> u16 {
        self.ports.bus
    }

    /// `host:port` of plain connections.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.ports.plain)
    }

    /// `redis://host:port`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Where it runs and writes.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut program) = self.program.take() {
            program.kill();
        }
    }

    /// Whether it was started and not killed since.
    pub fn runs(&self) -> bool {
        self.program.is_some()
    }

    /// Makes it hang: connections stay open, nothing is answered.
    pub fn hang(&self) {
        self.signal(Signal::STOP);
    }

    /// Ends the hanging.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Starts it again at the same place; what it had saved there is loaded.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn restart(&mut self) {
        self.kill();
        until("the server to start again", || self.tries_to_start().then_some(()));
    }

    /// Starts it again at the same place without waiting until it has loaded what it had saved.
    pub fn restart_without_waiting(&mut self) {
        self.kill();
        self.launch();
    }

    /// Starts it again at the same place, without anything that it had saved.
    pub fn restart_empty(&mut self) {
        self.kill();
        drop(std::fs::remove_file(self.folder.path().join("dump.rdb")));
        self.restart();
    }

    /// Changes a setting while it runs.
    pub fn set(&self, name: &str, value: &str) {
        self.ask::<()>(&["CONFIG", "SET", name, value]);
    }

    /// Sends a command and takes its answer.
    ///
    /// # Panics
    /// When there is none, or it is an error, or it is something else than what is wanted.
    pub fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        let answer = self.try_to_ask(words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        redis::from_redis_value(answer).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// Waits until another, which follows this one, has received all that was written here by now.
    ///
    /// # Panics
    /// When that takes too long.
    pub fn is_received_by(&self, replica: &Self) {
        let written = self.place("master_repl_offset");
        until("the replica to have received it", || {
            (replica.place("slave_repl_offset") >= written).then_some(())
        });
    }

    /// A place in what is sent to replicas, by its name.
    fn place(&self, name: &str) -> Option<u64> {
        let said: String = self.ask(&["INFO", "replication"]);
        said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
    }

    /// Sends a command and takes what comes of it.
    pub fn try_to_ask(&self, words: &[&str]) -> redis::RedisResult<Value> {
        let password = self.options.lines.iter().find(|(name, _)| name == "requirepass");
        ask_at(&self.address(), password.map(|(_, value)| value.as_str()), words)
    }

    fn signal(&self, signal: Signal) {
        self.program.as_ref().expect("it runs").signal(signal);
    }

    fn launch(&mut self) {
        let path = match self.options.flavour {
            Flavour::Redis => installed("bin/redis-server"),
            Flavour::Valkey => installed("bin/valkey-server"),
        };
        let settings = self.folder.path().join("settings.conf");
        // Sentinels write into their file; what they wrote is theirs.
        if !(self.options.sentinel && settings.exists()) {
            std::fs::write(&settings, self.settings()).expect("the folder is ours");
        }
        let mut arguments = vec![settings.into_os_string()];
        if self.options.sentinel {
            arguments.push("--sentinel".into());
        }
        self.program = Some(Program::start(&path, &arguments, self.folder.path()));
    }

    /// Starts it and waits until it answers itself, or ends because somebody else has its port.
    fn tries_to_start(&mut self) -> bool {
        self.launch();
        let up = within(Duration::from_secs(30), || {
            if self.program.as_mut().is_none_or(Program::has_ended) {
                return Some(false);
            }
            self.answers_itself().then_some(true)
        });
        up.unwrap_or_else(|| panic!("the server does not answer:\n{}", said(self.folder.path())))
    }

    fn answers_itself(&self) -> bool {
        let own = format!("process_id:{}", self.program.as_ref().map_or(0, Program::id));
        let info = self.try_to_ask(&["INFO", "server"]).ok();
        let text = info.and_then(|value| redis::from_redis_value::<String>(value).ok());
        text.is_some_and(|text| text.lines().any(|line| line.trim() == own))
    }

    fn settings(&self) -> String {
        let mut text = format!("port {}\nbind 127.0.0.1\n", self.ports.plain);
        if !self.options.sentinel {
            text.push_str(ORDINARY);
        }
        if self.options.cluster {
            writeln!(text, "cluster-enabled yes\ncluster-port {}", self.ports.bus)
                .expect("a string has room");
        }
        if let Some(folder) = &self.options.tls {
            let at = |name: &str| folder.join(name).display().to_string();
            let (port, ca, certificate, key) =
                (self.ports.tls, at("ca.crt"), at("server.crt"), at("server.key"));
            writeln!(
                text,
                "tls-port {port}\ntls-ca-cert-file {ca}\ntls-cert-file {certificate}\ntls-key-file {key}"
            )
            .expect("a string has room");
        }
        for (name, value) in &self.options.lines {
            writeln!(text, "{name} {value}").expect("a string has room");
        }
        text
    }
}

/// Sends a command to whoever listens there.
pub fn ask_at(address: &str, password: Option<&str>, words: &[&str]) -> redis::RedisResult<Value> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let user = password.map(|password| format!(":{password}@")).unwrap_or_default();
    let client = redis::Client::open(format!("redis://{user}{address}"))?;
    let mut connection = client.get_connection_with_timeout(PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(word);
    }
    command.query(&mut connection)
}

fn said(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("output")).unwrap_or_default()
}
