//! The doors: what each answers, within which bounds, and what is counted of it.

use std::sync::Arc;

use axum::Router;
use tidegate_engine::Engine;
use tidegate_frontend::door::{Clock, Door, DoorSettings, PartitionSecret, Room};
use tidegate_frontend::resp::{Password, Service};
use tidegate_frontend::rls;
use tidegate_wire::headers;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::callers::Callers;
use crate::config::{Config, Limits};
use crate::connection::Shortcut;
use crate::cores::Cores;
use crate::error::Error;
use crate::health::Health;
use crate::listener::{self, Counts, Phase, Serves};
use crate::metrics::Measured;
use crate::secret::Token;
use crate::stack::Stack;
use crate::tls::Tls;
use crate::{grpc, http, resp};

/// The bounds of the admin door: it serves a few on this machine.
const ADMIN_CONNECTIONS: usize = 64;

/// Doors that stop together.
pub(super) struct Doors {
    phase: watch::Sender<Phase>,
    tasks: JoinSet<()>,
}

impl Doors {
    pub(super) fn new() -> Self {
        Self { phase: watch::Sender::new(Phase::Serving), tasks: JoinSet::new() }
    }

    pub(super) fn serve(&mut self, listener: TcpListener, door: impl Serves, cores: &Arc<Cores>) {
        self.tasks.spawn(listener::serve(listener, door, Arc::clone(cores), self.phase.subscribe()));
    }

    /// Nothing new; ends when all connections have.
    pub(super) async fn drain(&mut self) {
        self.phase.send_replace(Phase::Draining);
        self.ended().await;
    }

    /// Ends what is left.
    pub(super) async fn stop(&mut self) {
        self.phase.send_replace(Phase::Stopped);
        self.ended().await;
    }

    async fn ended(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// What every way to the engine needs.
pub(super) struct Ways<'c> {
    pub(super) config: &'c Config,
    pub(super) engine: Arc<Engine<Stack>>,
    pub(super) clock: Clock,
    pub(super) health: Arc<Health>,
    pub(super) secret: Option<PartitionSecret>,
    /// Whom to believe.
    pub(super) callers: Callers,
    /// What the HTTP API wants to be told.
    pub(super) token: Option<Token>,
    pub(super) tls: Option<Arc<Tls>>,
}

impl Ways<'_> {
    /// Envoy's rate limit service.
    pub(super) fn grpc(&self, measured: &mut Vec<Measured>) -> Result<listener::Door, Error> {
        let way = self.way("grpc");
        let counts = note(measured, "grpc", Some(way.clone()));
        let shortcut = Some(Shortcut::Call(rls::service(way.clone())));
        let room = way.room().clone();
        let app = grpc::app(way, &self.health)?;
        let door = plain("grpc", app, self.config.limits, counts);
        let tls = self.tls("grpc");
        // Telling costs, and most of the time nobody asks.
        let tells_peers = self.callers.guards("grpc");
        Ok(listener::Door {
            http2_only: true,
            tells_peers,
            tls,
            shortcut,
            goes_on: grpc::goes_on,
            late: grpc::late,
            broken: grpc::broken,
            busy: grpc::busy,
            room,
            ..door
        })
    }

    /// The HTTP API.
    pub(super) fn http(&self, measured: &mut Vec<Measured>) -> listener::Door {
        let way = self.way("http");
        let counts = note(measured, "http", Some(way.clone()));
        // Who must show a token first goes by where it is asked for.
        let checks = || Shortcut::Check(tidegate_frontend::http::Checks::new(way.clone()));
        let shortcut = self.token.is_none().then(checks);
        let room = way.room().clone();
        let app = http::app(way, &self.health, self.token.clone());
        let door = plain("http", app, self.config.limits, counts);
        listener::Door { tells_peers: true, tls: self.tls("http"), shortcut, room, ..door }
    }

    /// What encrypts a door, if it is.
    pub(super) fn tls(&self, door: &str) -> Option<Arc<Tls>> {
        self.tls.clone().filter(|_| self.config.tls.covers(door))
    }

    /// The Redis protocol.
    pub(super) fn resp(&self, password: Option<Password>, measured: &mut Vec<Measured>) -> resp::Door {
        let way = self.way("resp");
        let counts = note(measured, "resp", Some(way.clone()));
        let tls = self.tls("resp");
        resp::Door { service: Service::new(way, password), tls, limits: self.config.limits, counts }
    }

    /// Each door has a way of its own, so that a flood through one does not close the others.
    fn way(&self, door: &str) -> Door<Stack> {
        let settings = DoorSettings {
            headers: headers::Settings { partition_keys: self.secret.is_some(), ..self.config.headers },
            pk_secret: self.secret,
            undecided: self.config.undecided,
            tell_shadow: self.config.tell_shadow,
            metadata_descriptors: self.config.metadata_descriptors,
            most_in_flight: self.config.limits.in_flight,
            max_body_bytes: self.config.limits.body_bytes,
            max_bodies_bytes: self.config.limits.bodies_bytes,
            max_batch: self.config.limits.batch,
            trust: self.callers.at(door),
            forward_trust: self.callers.forwarded(),
        };
        Door::new(Arc::clone(&self.engine), self.clock.clone(), settings)
    }
}

/// Metrics and administration.
pub(super) fn admin(config: &Config, app: Router, counts: Arc<Counts>) -> listener::Door {
    let limits = Limits { connections: ADMIN_CONNECTIONS, ..config.limits };
    listener::Door { tells_peers: true, ..plain("admin", app, limits, counts) }
}

/// Counts what a door does from now on.
pub(super) fn note(
    measured: &mut Vec<Measured>,
    name: &'static str,
    door: Option<Door<Stack>>,
) -> Arc<Counts> {
    let counts = Arc::new(Counts::default());
    measured.push(Measured { name, door, counts: Arc::clone(&counts) });
    counts
}

/// A door that speaks HTTP/1 and HTTP/2.
fn plain(name: &'static str, app: Router, limits: Limits, counts: Arc<Counts>) -> listener::Door {
    let (http2_only, tells_peers, tls) = (false, false, None);
    listener::Door {
        name,
        tls,
        http2_only,
        tells_peers,
        shortcut: None,
        app,
        goes_on: |_| false,
        late: http::late,
        broken: http::broken,
        busy: http::busy,
        room: Room::new(limits.bodies_bytes),
        limits,
        counts,
    }
}
