//! From settings to a running server, and from there to a stop that loses nothing.

mod prepared;
mod listeners;
mod doors;

use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tidegate_control::{ControlRequests, ControlStatus, FileSource, LoaderContext, RuleLoader, RuleWatcher};
use tidegate_engine::{Engine, LastResort};
use tidegate_frontend::door::Clock;
use tidegate_net::cores::Cores;
use tidegate_net::secret::{self, BearerToken};
use tidegate_net::tls;
use tidegate_redis::client::stay_on_lane;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::admin::{self, Admin, Known};
use crate::checkpoint::Keeper;
use crate::clock::WallClock;
use crate::config::{Config, StoreKind, sense};
use crate::error::Error;
use crate::health::Health;
use crate::hint;
use crate::metrics::{Busiest, Metrics};
use crate::notices::Notices;
use crate::reach::{self, Refusal};
use crate::signals::{self, Stops};
use crate::stack::{self, Stack};
use crate::together::Together;
use doors::{Doors, Ways};
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

/// Says loudly that everything passes; in the place of envoyproxy/ratelimit that is an error.
fn warn_without_rules(config: &Config, rules: usize) -> Result<(), Error> {
    if rules > 0 {
        return Ok(());
    }
    if let Some(folder) = &config.ratelimit_folder {
        return Err(Error::NoRules { folder: folder.clone() });
    }
    let hint = "name a folder of rules with --rules or TIDEGATE_RULES; `tidegate init` writes one";
    tracing::warn!(hint, "there are no rules: everything passes");
    Ok(())
}

/// Loads the rules for the first time; the result keeps them up to date.
async fn load_rules(
    config: &Config,
    context: LoaderContext<Stack>,
    requests: ControlRequests,
) -> Result<RuleWatcher<FileSource, Stack>, Error> {
    let source = config.rules.clone().map(FileSource::new);
    Ok(RuleWatcher::start(source, RuleLoader::new(context), requests).await?)
}

/// How callers of the admin listener prove who they are.
fn admin_callers(config: &Config, token: Option<BearerToken>) -> Known {
    match token {
        Some(token) => Known::Token(token),
        None if sense::admin_wants_certificates(config) => Known::Certificate,
        None => Known::ThisMachine,
    }
}

/// Loads the rules, opens the doors and serves. It needs a runtime with several threads.
pub async fn start(config: &Config) -> Result<Running, Error> {
    let Prepared { secret, admin_token, http_token, callers, password, tls, followed } =
        Prepared::read(config)?;
    sense::warn(config);
    let (control, requests) = tidegate_control::channel();
    let mut background = JoinSet::new();
    background.spawn(signals::reload_on_hangup(control.clone())?);

    let wall_clock = WallClock::start();
    background.spawn(Arc::clone(&wall_clock).follow());
    let (clock, status) = (wall_clock.reader(), Arc::new(ControlStatus::default()));
    let cores = Arc::new(Cores::start(config.runtime, stay_on_lane).map_err(Error::Thread)?);
    let (stack, opened) = stack::build(config, &cores, clock())?;
    let resort = LastResort::new(config.last_resort.node, config.last_resort.tenant);
    let engine = Arc::new(Engine::new(stack).with_last_resort(resort));
    let tiers = stack::tiers(&config.stores);
    let context = LoaderContext {
        engine: Arc::clone(&engine),
        status: Arc::clone(&status),
        clock: clock.clone(),
        tiers,
        attributes: config.trust.named_attributes(),
    };
    let watcher = load_rules(config, context, requests).await?;
    warn_without_rules(config, engine.snapshot().rules())?;
    let health = Arc::new(Health::new().await);
    wait_for_store(config, engine.store()).await;
    let listeners = Listeners::bind(config).await?;
    let addresses = listeners.addresses;
    sense::warn_of_open_doors(config);
    background.spawn(watcher.run());
    background.spawn(secret::follow(followed));
    background.spawn(Notices::new(Arc::clone(&engine), callers.forwarded()).run());
    let together = Together::new(Arc::clone(&engine), Arc::clone(&status), clock.clone(), addresses);
    let together = together.map(Arc::new);
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
        token: http_token,
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
            clock: wall_clock,
            busiest,
        };
        let known = admin_callers(config, admin_token);
        let app = admin::app(Arc::new(Admin { metrics, health: Arc::clone(&health), control }), known);
        let door = doors::admin(config, app, counts, ways.tls("admin"));
        admin.serve(listener, door, &Arc::new(Cores::current()));
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
