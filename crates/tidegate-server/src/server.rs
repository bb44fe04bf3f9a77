//! From settings to a running server, and from there to a stop that loses nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use tidegate_engine::Engine;
use tidegate_wire::door::{Clock, Door, DoorSettings};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::admin::{self, Admin};
use crate::config::{Config, Limits, Shutdown};
use crate::error::Error;
use crate::health::Health;
use crate::listener::{self, Counts, Phase};
use crate::metrics::{Busiest, Measured, Metrics};
use crate::rules::status::Status;
use crate::rules::{Loader, Loading, Watch};
use crate::signals::{self, Stops};
use crate::stack::{self, Stack};
use crate::{clock, grpc, hint, http};

/// Readings of the rules that may wait.
const MOST_WAITING: usize = 8;

/// The bounds of the admin door: it serves a few on this machine.
const ADMIN_CONNECTIONS: usize = 64;

/// Where the doors really listen; `None` if one is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Envoy's rate limit service.
    pub grpc: Option<SocketAddr>,
    /// The HTTP API.
    pub http: Option<SocketAddr>,
    /// Metrics and administration.
    pub admin: Option<SocketAddr>,
}

/// How a server stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// All requests under way were answered.
    Drained,
    /// Some were not, within the time that they had.
    Late,
    /// It was told twice.
    AtOnce,
}

/// A server that runs.
pub struct Running {
    engine: Arc<Engine<Stack>>,
    clock: Clock,
    addresses: Addresses,
    health: Arc<Health>,
    shutdown: Shutdown,
    doors: Part,
    admin: Part,
}

/// Listeners that stop together.
struct Part {
    phase: watch::Sender<Phase>,
    tasks: JoinSet<()>,
}

/// Loads the rules, opens the doors and serves. It needs a runtime with several threads.
pub async fn start(config: &Config) -> Result<Running, Error> {
    check(config)?;
    let (reload, triggers) = mpsc::channel(MOST_WAITING);
    signals::reload_on_hangup(reload.clone())?;
    let (clock, status) = (clock::system(), Arc::new(Status::default()));
    let engine = Arc::new(Engine::new(stack::build(config)));
    let loading = Loading { engine: Arc::clone(&engine), status: Arc::clone(&status), clock: clock.clone() };
    let loader = Loader::start(config.rules.clone(), loading)?;
    let health = Arc::new(Health::new().await);
    let listeners = Listeners::bind(config).await?;
    let addresses = listeners.addresses;
    tokio::spawn(Watch::new(loader, triggers).run());

    let way = || Door::new(Arc::clone(&engine), clock.clone(), settings(config));
    let (mut doors, mut admin, mut measured) = (Part::new(), Part::new(), Vec::new());
    if let Some(listener) = listeners.grpc {
        let way = way();
        let counts = note(&mut measured, "grpc", Some(way.clone()));
        let app = grpc::app(way, &health)?;
        let (late, broken) = (grpc::late as _, grpc::broken as _);
        let limits = config.limits;
        doors.serve(
            listener,
            listener::Door { name: "grpc", http2_only: true, app, late, broken, limits, counts },
        );
    }
    if let Some(listener) = listeners.http {
        let way = way();
        let counts = note(&mut measured, "http", Some(way.clone()));
        doors.serve(listener, plain("http", http::app(way, &health), config.limits, counts));
    }
    if let Some(listener) = listeners.admin {
        let counts = note(&mut measured, "admin", None);
        let metrics = Metrics {
            engine: Arc::clone(&engine),
            status,
            doors: measured,
            started: clock(),
            busiest: Busiest::default(),
        };
        let app = admin::app(Arc::new(Admin { metrics, health: Arc::clone(&health), reload }));
        let limits = Limits { connections: ADMIN_CONNECTIONS, ..config.limits };
        admin.serve(listener, plain("admin", app, limits, counts));
    }
    Ok(Running { engine, clock, addresses, health, shutdown: config.shutdown, doors, admin })
}

impl Running {
    /// Where it listens.
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// How many rules are in force.
    pub fn rules(&self) -> usize {
        self.engine.snapshot().rules()
    }

    /// A line for a shell that asks the HTTP door something that a rule counts; `None` if that door is off.
    pub async fn curl(&self) -> Option<String> {
        Some(hint::curl(&self.engine, self.addresses.http?, (self.clock)()).await)
    }

    /// Serves until a signal says stop; a second one stops at once.
    pub async fn until_stopped(self, mut stops: Stops) -> Stopped {
        let signal = stops.next().await;
        tracing::info!(%signal, "stopping");
        tokio::select! {
            stopped = self.stop() => stopped,
            signal = stops.next() => {
                tracing::warn!(%signal, "stopping at once");
                Stopped::AtOnce
            }
        }
    }

    /// Stops: not ready first, then nothing new, then the end of what is under way, within its time.
    pub async fn stop(mut self) -> Stopped {
        self.health.leave().await;
        sleep(self.shutdown.lame_duck).await;
        self.health.close().await;
        self.doors.phase.send_replace(Phase::Draining);
        let drained = timeout(self.shutdown.drain, self.doors.ended()).await.is_ok();
        self.doors.stop().await;
        self.admin.stop().await;
        let stopped = if drained { Stopped::Drained } else { Stopped::Late };
        tracing::info!(drained, "stopped");
        stopped
    }
}

impl Part {
    fn new() -> Self {
        Self { phase: watch::Sender::new(Phase::Serving), tasks: JoinSet::new() }
    }

    fn serve(&mut self, listener: TcpListener, door: listener::Door) {
        self.tasks.spawn(listener::serve(listener, door, self.phase.subscribe()));
    }

    async fn ended(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    async fn stop(&mut self) {
        self.phase.send_replace(Phase::Stopped);
        self.ended().await;
    }
}

/// Doors that have an address and are not served yet.
struct Listeners {
    grpc: Option<TcpListener>,
    http: Option<TcpListener>,
    admin: Option<TcpListener>,
    addresses: Addresses,
}

impl Listeners {
    async fn bind(config: &Config) -> Result<Self, Error> {
        let (grpc, grpc_at) = open("grpc", config.listen.grpc).await?;
        let (http, http_at) = open("http", config.listen.http).await?;
        let (admin, admin_at) = open("admin", config.listen.admin).await?;
        let addresses = Addresses { grpc: grpc_at, http: http_at, admin: admin_at };
        Ok(Self { grpc, http, admin, addresses })
    }
}

async fn open(
    door: &'static str,
    address: Option<SocketAddr>,
) -> Result<(Option<TcpListener>, Option<SocketAddr>), Error> {
    let Some(address) = address else { return Ok((None, None)) };
    let (listener, bound) = listener::bind(door, address).await?;
    tracing::info!(%door, addr = %bound, "listening");
    Ok((Some(listener), Some(bound)))
}

/// What settings cannot say by themselves.
fn check(config: &Config) -> Result<(), Error> {
    match config.listen.admin {
        Some(address) if !address.ip().is_loopback() => Err(Error::AdminExposed { address }),
        _ if config.listen.grpc.is_none() && config.listen.http.is_none() => Err(Error::NoDoor),
        _ => Ok(()),
    }
}

fn settings(config: &Config) -> DoorSettings {
    DoorSettings {
        headers: config.headers,
        most_in_flight: config.limits.in_flight,
        max_body_bytes: config.limits.body_bytes,
        max_batch: config.limits.batch,
        ..DoorSettings::default()
    }
}

/// A door that speaks HTTP/1 and HTTP/2.
fn plain(name: &'static str, app: axum::Router, limits: Limits, counts: Arc<Counts>) -> listener::Door {
    listener::Door { name, http2_only: false, app, late: http::late, broken: http::broken, limits, counts }
}

fn note(measured: &mut Vec<Measured>, name: &'static str, door: Option<Door<Stack>>) -> Arc<Counts> {
    let counts = Arc::new(Counts::default());
    measured.push(Measured { name, door, counts: Arc::clone(&counts) });
    counts
}
