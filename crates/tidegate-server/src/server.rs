//! From settings to a running server, and from there to a stop that loses nothing.

mod listeners;
mod doors;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tidegate_engine::{Engine, LastResort};
use tidegate_wire::door::Clock;
use tidegate_wire::resp::Password;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::admin::{self, Admin, Known};
use crate::callers::{self, Callers};
use crate::checkpoint::Keeper;
use crate::config::{self, Config, Shutdown};
use crate::cores::Cores;
use crate::error::Error;
use crate::health::Health;
use crate::metrics::{Busiest, Metrics};
use crate::rules::status::Status;
use crate::rules::{Loader, Loading, Watch};
use crate::secret::Kept;
use crate::signals::{self, Stops};
use crate::stack::{self, Stack};
use crate::tls::{self, Tls};
use crate::together::Together;
use crate::{clock, hint, listener, secret};
use doors::{Doors, Ways};
use listeners::Listeners;

pub use listeners::Addresses;

/// Readings of the rules that may wait.
const MOST_WAITING: usize = 8;

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
    tls: config::Tls,
    health: Arc<Health>,
    shutdown: Shutdown,
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

/// How the address of a door begins.
fn scheme(tls: &config::Tls, door: &str) -> &'static str {
    if tls.covers(door) { "https" } else { "http" }
}

/// Reads a password that is kept up with from now on.
fn keep_password(path: &Path, kept: &mut Vec<Kept>) -> Result<Password, Error> {
    let password = secret::password(path)?;
    let known = password.clone();
    kept.push(Kept::new(path.to_owned(), move |path| secret::renew_password(&known, path)));
    Ok(password)
}

/// Loads the rules, opens the doors and serves. It needs a runtime with several threads.
pub async fn start(config: &Config) -> Result<Running, Error> {
    listeners::check(config)?;
    let secret = config.partition_secret.as_deref().map(secret::read).transpose()?;
    let mut kept = Vec::new();
    let admin_token = config.admin_token.as_deref().map(|path| callers::keep(path, &mut kept)).transpose()?;
    let token = config.http_token.as_deref().map(|path| callers::keep(path, &mut kept)).transpose()?;
    let callers = Callers::read(config, &mut kept)?;
    let password =
        config.resp.password_file.as_deref().map(|path| keep_password(path, &mut kept)).transpose()?;
    let (reload, triggers) = mpsc::channel(MOST_WAITING);
    let mut background = JoinSet::new();
    background.spawn(signals::reload_on_hangup(reload.clone())?);

    let (clock, status) = (clock::system(), Arc::new(Status::default()));
    let tls = Tls::open(&config.tls)?;
    let cores = Arc::new(Cores::start(config.runtime).map_err(Error::Thread)?);
    let (stack, opened) = stack::build(config, &cores, clock())?;
    let resort = LastResort::new(config.last_resort.node, config.last_resort.tenant);
    let engine = Arc::new(Engine::new(stack).with_last_resort(resort));
    let tiers = stack::tiers(&config.stores);
    let loading =
        Loading { engine: Arc::clone(&engine), status: Arc::clone(&status), clock: clock.clone(), tiers };
    let loader = Loader::start(config.rules.clone(), loading)?;
    let health = Arc::new(Health::new().await);
    if timeout(STORE_PATIENCE, engine.store().connected()).await.is_err() {
        tracing::warn!("the store cannot be reached; starting without it");
    }
    let listeners = Listeners::bind(config).await?;
    let addresses = listeners.addresses;
    background.spawn(Watch::new(loader, triggers).run());
    background.spawn(secret::follow(kept));
    background.spawn(callers::warn_of_strangers(callers.forwarded()));
    let together = Together::new(Arc::clone(&engine), clock.clone(), addresses).map(Arc::new);
    if let Some(together) = &together {
        background.spawn(Arc::clone(together).run());
    }
    if let Some(tls) = &tls {
        background.spawn(tls::follow(Arc::clone(tls)));
    }
    let keep = |opened| Keeper::start(opened, Arc::clone(&engine), clock.clone(), &config.checkpoint);
    let keeper = opened.map(keep).transpose().map_err(Error::Thread)?;

    let (mut doors, mut admin, mut measured) = (Doors::new(), Doors::new(), Vec::new());
    let ways = Ways {
        config,
        engine: Arc::clone(&engine),
        clock: clock.clone(),
        health: Arc::clone(&health),
        secret,
        callers,
        token,
        tls,
    };
    if let Some(listener) = listeners.grpc {
        doors.serve(listener, ways.grpc(&mut measured)?, &cores);
    }
    if let Some(listener) = listeners.http {
        doors.serve(listener, ways.http(&mut measured), &cores);
    }
    if let Some(listener) = listeners.resp {
        doors.serve(listener, ways.resp(password, &mut measured), &cores);
    }
    if let Some(listener) = listeners.admin {
        let counts = doors::note(&mut measured, "admin", None);
        let (engine, started, busiest) = (Arc::clone(&engine), clock(), Busiest::default());
        let kept = keeper.as_ref().map(Keeper::status);
        let heard = together.as_ref().map(|together| together.heard());
        let metrics = Metrics {
            engine,
            status,
            kept,
            heard,
            doors: measured,
            cores: Arc::clone(&cores),
            started,
            busiest,
        };
        let known = match admin_token {
            Some(token) => Known::Token(token),
            None if listeners::admin_wants_certificates(config) => Known::Certificate,
            None => Known::ThisMachine,
        };
        let app = admin::app(Arc::new(Admin { metrics, health: Arc::clone(&health), reload }), known);
        let door = listener::Door { tls: ways.tls("admin"), ..doors::admin(config, app, counts) };
        admin.serve(listener, door, &Arc::new(Cores::here()));
    }
    let shutdown = config.shutdown;
    Ok(Running {
        engine,
        clock,
        addresses,
        tls: config.tls.clone(),
        health,
        shutdown,
        doors,
        admin,
        keeper,
        _cores: cores,
        together,
        _background: background,
    })
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
        let door = (scheme(&self.tls, "http"), self.addresses.http?);
        Some(hint::curl(&self.engine, door, (self.clock)()).await)
    }

    /// Where metrics and the rules in force can be looked at; `None` if that door is off.
    pub fn admin_url(&self) -> Option<String> {
        Some(format!("{}://{}/", scheme(&self.tls, "admin"), self.addresses.admin?))
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
        sleep(self.shutdown.lame_duck).await;
        self.health.close().await;
        let drained = timeout(self.shutdown.drain, self.doors.drain()).await.is_ok();
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
