//! From settings to a running server, and from there to a stop that loses nothing.

mod prepared;
mod foundation;
mod listeners;
mod doors;

use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tidegate_engine::Engine;
use tidegate_frontend::door::Clock;
use tidegate_net::cores::Cores;
use tidegate_net::secret::{self, BearerToken, FollowedSecret};
use tidegate_net::tls::{self, TlsContext};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::admin::{self, Admin, Known};
use crate::checkpoint::Keeper;
use crate::config::{Config, StoreKind, sense};
use crate::error::Error;
use crate::health::Health;
use crate::hint;
use crate::metrics::{Busiest, Metrics};
use crate::notices::Notices;
use crate::reach::{self, Refusal};
use crate::signals::Stops;
use crate::stack::Stack;
use crate::together::Together;
use doors::{Doors, Ways};
use foundation::Foundation;
use listeners::Listeners;
use prepared::Prepared;

pub use listeners::Addresses;
pub use prepared::check;

/// How long doors stay closed until the store's servers are connected: whoever came earlier would be answered without them.
const STORE_PATIENCE: Duration = Duration::from_secs(2);

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

/// A server that runs, until it is stopped or dropped.
pub struct Running {
    engine: Arc<Engine<Stack>>,
    clock: Clock,
    addresses: Addresses,
    config: Config,
    health: Arc<Health>,
    doors: Doors,
    /// It closes last, so that the end can be watched.
    admin: Doors,
    /// What keeps counters over a restart.
    keeper: Option<Keeper>,
    /// What connections are served on, those to the store among them.
    _cores: Arc<Cores>,
    /// What counts with others.
    together: Option<Arc<Together>>,
    /// What keeps up with the rules.
    _background: JoinSet<()>,
}

/// Says which servers of the store are not there, or where none was found.
fn warn_of_store(config: &Config, store: &Stack) {
    let unreached = store.unreached();
    for (server, error) in &unreached {
        tracing::warn!(server, error, "the store cannot be reached; starting without it");
    }
    if let (true, StoreKind::Redis(address)) = (unreached.is_empty(), &config.store) {
        let (servers, error) = (address.servers(), "no server was found");
        tracing::warn!(servers, error, "the store cannot be reached; starting without it");
    }
}

/// Waits for the servers of the store; if all of them refuse connections, that is said at once.
async fn wait_for_store(config: &Config, store: &Stack) {
    let mut connected = pin!(timeout(STORE_PATIENCE, store.connected()));
    let came = tokio::select! {
        came = &mut connected => came,
        refusals = reach::until_refused(config) => {
            for Refusal { server, why } in refusals {
                tracing::warn!(server, error = why, "the store cannot be reached yet; waiting a moment");
            }
            connected.await
        }
    };
    if came.is_err() {
        warn_of_store(config, store);
    }
}

/// Loads the rules, binds the listeners and serves. It needs a runtime with several threads.
pub async fn start(config: &Config) -> Result<Running, Error> {
    let prepared = Prepared::read(config)?;
    sense::warn(config);
    let Foundation { engine, wall_clock, cores, status, control, watcher, opened, mut background } =
        Foundation::build(config).await?;
    let (clock, health) = (wall_clock.reader(), Arc::new(Health::new().await));
    wait_for_store(config, engine.store()).await;
    let listeners = Listeners::bind(config).await?;
    let addresses = listeners.addresses;
    sense::warn_of_open_doors(config);

    let together = Together::new(Arc::clone(&engine), Arc::clone(&status), clock.clone(), addresses);
    let together = together.map(Arc::new);
    background.spawn(watcher.run());
    background.spawn(Notices::new(Arc::clone(&engine), prepared.callers.forwarded()).run());
    follow_files(&mut background, prepared.followed, prepared.tls.clone());
    if let Some(together) = &together {
        background.spawn(Arc::clone(together).run());
    }
    let keep = |opened| Keeper::start(opened, Arc::clone(&engine), clock.clone(), &config.checkpoint);
    let keeper = opened.map(keep).transpose().map_err(Error::Thread)?;

    let ways = Ways {
        config,
        engine: Arc::clone(&engine),
        clock: clock.clone(),
        health: Arc::clone(&health),
        secret: prepared.secret,
        callers: prepared.callers,
        token: prepared.http_token,
        tls: prepared.tls,
    };
    let (mut doors, mut admin, mut measured) = (Doors::new(), Doors::new(), Vec::new());
    ways.serve_checks(&mut doors, listeners.checks, (prepared.password, &cores), &mut measured)?;
    if let Some(listener) = listeners.admin {
        let counts = doors::note(&mut measured, "admin", None);
        let metrics = Metrics {
            engine: Arc::clone(&engine),
            status,
            kept: keeper.as_ref().map(Keeper::status),
            heard: together.as_ref().map(|together| together.heard()),
            doors: measured,
            cores: Arc::clone(&cores),
            started: clock(),
            clock: wall_clock,
            busiest: Busiest::default(),
        };
        let known = admin_callers(config, prepared.admin_token);
        let app = admin::app(Arc::new(Admin { metrics, health: Arc::clone(&health), control }), known);
        let handler = doors::admin(config, app, counts, ways.tls("admin"));
        admin.serve(listener, handler, &Arc::new(Cores::current()));
    }
    Ok(Running {
        engine,
        clock,
        addresses,
        config: config.clone(),
        health,
        doors,
        admin,
        keeper,
        _cores: cores,
        together,
        _background: background,
    })
}

/// Secrets and certificates follow their files.
fn follow_files(background: &mut JoinSet<()>, followed: Vec<FollowedSecret>, tls: Option<Arc<TlsContext>>) {
    background.spawn(secret::follow(followed));
    if let Some(tls) = tls {
        background.spawn(tls::follow(tls));
    }
}

/// How callers of the admin listener prove who they are.
fn admin_callers(config: &Config, token: Option<BearerToken>) -> Known {
    match token {
        Some(token) => Known::Token(token),
        None if sense::admin_wants_certificates(config) => Known::Certificate,
        None => Known::ThisMachine,
    }
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
        let door = self.seen("http", self.addresses.http?, self.config.http_token.as_deref());
        Some(hint::curl(&self.engine, &door, (self.clock)()).await)
    }

    /// The same for the Redis protocol.
    pub fn redis_cli(&self) -> Option<String> {
        let password = self.config.resp.password_file.as_deref();
        Some(hint::redis_cli(&self.seen("resp", self.addresses.resp?, password)))
    }

    /// Where metrics and the rules in force can be looked at; `None` if that door is off.
    pub fn admin_url(&self) -> Option<String> {
        let token = self.config.admin_token.as_deref();
        Some(hint::admin(&self.seen("admin", self.addresses.admin?, token)))
    }

    /// What must be added to these, if one of the doors is encrypted.
    pub fn remark(&self) -> Option<&'static str> {
        let Addresses { http, resp, admin, .. } = self.addresses;
        let doors = [("http", http), ("resp", resp), ("admin", admin)];
        let is_encrypted = doors.iter().any(|(door, at)| at.is_some() && self.config.tls.covers(door));
        is_encrypted.then(|| hint::encrypted(self.config.tls.asks_clients()))
    }

    fn seen<'s>(&'s self, door: &str, address: SocketAddr, secret: Option<&'s Path>) -> hint::Seen<'s> {
        hint::Seen { address, encrypted: self.config.tls.covers(door), secret }
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

    /// Stops: not ready first, then nothing new, then the end of what is under way, within its time; counters are saved last.
    pub async fn stop(mut self) -> Stopped {
        self.health.leave().await;
        sleep(self.config.shutdown.lame_duck).await;
        self.health.close().await;
        let drained = timeout(self.config.shutdown.drain, self.doors.drain()).await.is_ok();
        self.doors.stop().await;
        if let Some(keeper) = self.keeper.take() {
            keeper.finish().await;
        }
        if let Some(together) = &self.together {
            together.leave().await;
        }
        self.admin.stop().await;
        tracing::info!(drained, "stopped");
        if drained { Stopped::Drained } else { Stopped::Late }
    }
}
