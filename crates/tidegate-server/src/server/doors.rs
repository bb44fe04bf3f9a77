//! The doors: what each answers, within which bounds, and what is counted of it.

use std::sync::Arc;

use axum::Router;
use tidegate_engine::Engine;
use tidegate_frontend::door::{Clock, Door, DoorSettings, PartitionSecret};
use tidegate_frontend::resp::{Password, Service};
use tidegate_frontend::rls;
use tidegate_net::budget::ListenerBudget;
use tidegate_net::cores::Cores;
use tidegate_net::http::HttpListener;
use tidegate_net::secret::BearerToken;
use tidegate_net::tls::TlsContext;
use tidegate_net::{ConnectionCounts, ConnectionHandler, ConnectionLimits, ListenerConfig, Phase, serve};
use tidegate_wire::headers;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::listeners::CheckListeners;
use crate::callers::Callers;
use crate::config::Config;
use crate::error::Error;
use crate::health::Health;
use crate::metrics::Measured;
use crate::resp::RespListener;
use crate::routed::{RoutedApp, Shortcut};
use crate::stack::Stack;
use crate::{grpc, http};

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

    pub(super) fn serve(
        &mut self,
        listener: TcpListener,
        handler: impl ConnectionHandler,
        cores: &Arc<Cores>,
    ) {
        self.tasks.spawn(serve(listener, handler, Arc::clone(cores), self.phase.subscribe()));
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
    pub(super) token: Option<BearerToken>,
    pub(super) tls: Option<Arc<TlsContext>>,
}

impl Ways<'_> {
    /// Serves the listeners at which checks come in.
    pub(super) fn serve_checks(
        &self,
        doors: &mut Doors,
        listeners: CheckListeners,
        (password, cores): (Option<Password>, &Arc<Cores>),
        measured: &mut Vec<Measured>,
    ) -> Result<(), Error> {
        if let Some(listener) = listeners.grpc {
            doors.serve(listener, self.grpc(measured)?, cores);
        }
        if let Some(listener) = listeners.http {
            doors.serve(listener, self.http(measured), cores);
        }
        if let Some(listener) = listeners.resp {
            doors.serve(listener, self.resp(password, measured), cores);
        }
        Ok(())
    }

    /// Envoy's rate limit service.
    fn grpc(&self, measured: &mut Vec<Measured>) -> Result<HttpListener<RoutedApp>, Error> {
        let way = self.way("grpc");
        let listener = self.listener("grpc", note(measured, "grpc", Some(way.clone())));
        let (budget, shortcut) = (way.room().clone(), Shortcut::Call(rls::service(way.clone())));
        let app = RoutedApp {
            shortcut: Some(shortcut),
            router: grpc::app(way, &self.health)?,
            // To look at peers costs something, and most of the time nobody asks.
            needs_peer: self.callers.guards("grpc"),
            is_stream: grpc::is_stream,
            fallbacks: grpc::FALLBACKS,
        };
        Ok(HttpListener { listener, http2_only: true, budget, app })
    }

    /// The HTTP API.
    fn http(&self, measured: &mut Vec<Measured>) -> HttpListener<RoutedApp> {
        let way = self.way("http");
        let listener = self.listener("http", note(measured, "http", Some(way.clone())));
        let budget = way.room().clone();
        // With a token, checks go through the route that asks for it.
        let checks = || Shortcut::Check(tidegate_frontend::http::Checks::new(way.clone()));
        let shortcut = self.token.is_none().then(checks);
        let router = http::app(way, &self.health, self.token.clone());
        HttpListener { listener, http2_only: false, budget, app: over_http(router, shortcut) }
    }

    /// What encrypts a door, if it is.
    pub(super) fn tls(&self, door: &str) -> Option<Arc<TlsContext>> {
        self.tls.clone().filter(|_| self.config.tls.covers(door))
    }

    /// The Redis protocol.
    fn resp(&self, password: Option<Password>, measured: &mut Vec<Measured>) -> RespListener {
        let way = self.way("resp");
        let listener = self.listener("resp", note(measured, "resp", Some(way.clone())));
        RespListener { listener, service: Service::new(way, password) }
    }

    fn listener(&self, name: &'static str, counts: Arc<ConnectionCounts>) -> ListenerConfig {
        ListenerConfig { name, limits: self.config.limits.network, counts, tls: self.tls(name) }
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
pub(super) fn admin(
    config: &Config,
    router: Router,
    counts: Arc<ConnectionCounts>,
    tls: Option<Arc<TlsContext>>,
) -> HttpListener<RoutedApp> {
    let limits = ConnectionLimits { connections: ADMIN_CONNECTIONS, ..config.limits.network };
    let listener = ListenerConfig { name: "admin", limits, counts, tls };
    let budget = ListenerBudget::new(config.limits.bodies_bytes);
    HttpListener { listener, http2_only: false, budget, app: over_http(router, None) }
}

/// An application for HTTP/1.1 and HTTP/2.
fn over_http(router: Router, shortcut: Option<Shortcut>) -> RoutedApp {
    let (needs_peer, fallbacks) = (true, http::FALLBACKS);
    RoutedApp { shortcut, router, needs_peer, is_stream: |_| false, fallbacks }
}

/// Counts what a door does from now on.
pub(super) fn note(
    measured: &mut Vec<Measured>,
    name: &'static str,
    door: Option<Door<Stack>>,
) -> Arc<ConnectionCounts> {
    let counts = Arc::new(ConnectionCounts::default());
    measured.push(Measured { name, door, counts: Arc::clone(&counts) });
    counts
}
