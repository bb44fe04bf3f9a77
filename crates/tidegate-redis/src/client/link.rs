//! One connection to one server that is made, watched over and made again in the background, so that no call waits for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use super::address::Place;
use super::backoff::Backoff;
use super::command::{self, Body, Naming};
use super::connector::{Connected, Recipe};
use super::health::Health;
use super::reply::{Reply, trouble_of};
use super::secret::Secret;
use super::task::Background;
use super::tls::Files;
use super::trouble::Trouble;
use crate::{Call, Fault};

/// How often a connection that is not suspected is looked at.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// A connection that comes back when it breaks.
pub(crate) struct Link {
    shared: Arc<Shared>,
    _keeper: Background,
}

/// What the keeper and those who call share.
struct Shared {
    line: ArcSwapOption<Line>,
    /// Why there is no line.
    down: Mutex<Fault>,
    up: watch::Sender<bool>,
    /// Somebody thinks that the line should be looked at.
    suspicion: Notify,
    lines: AtomicU64,
}

/// A connection that was good when it was last seen.
pub(crate) struct Line {
    connection: MultiplexedConnection,
    number: u64,
}

impl Link {
    /// Begins to connect.
    pub(crate) fn start(runtime: &Handle, place: Place, recipe: Arc<Recipe>, health: Arc<Health>) -> Self {
        let shared = Arc::new(Shared {
            line: ArcSwapOption::empty(),
            down: Mutex::new(Fault::Disconnected),
            up: watch::Sender::new(false),
            suspicion: Notify::new(),
            lines: AtomicU64::new(0),
        });
        let keeper = Keeper { shared: Arc::clone(&shared), place, recipe, health };
        Self { shared, _keeper: Background::start(runtime, keeper.keep()) }
    }

    /// The connection, or why there is none.
    pub(crate) fn line(&self) -> Result<Arc<Line>, Trouble> {
        self.shared.line.load_full().ok_or_else(|| {
            Trouble::before_sending(*self.shared.down.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    /// Whether there is a connection.
    pub(crate) fn is_up(&self) -> bool {
        *self.shared.up.borrow()
    }

    /// Waits until there is a connection.
    pub(crate) async fn up(&self) {
        // It fails only when the link is gone, and we hold it.
        drop(self.shared.up.subscribe().wait_for(|up| *up).await);
    }

    /// Has the connection looked at.
    pub(crate) fn suspect(&self) {
        self.shared.suspicion.notify_one();
    }

    /// Takes a broken connection away, unless there is another already.
    pub(crate) fn lose(&self, line: &Line) {
        self.shared.retract(line.number, Fault::Disconnected);
        self.suspect();
    }
}

impl Shared {
    fn publish(&self, connection: MultiplexedConnection) -> Arc<Line> {
        let line = Arc::new(Line { connection, number: self.lines.fetch_add(1, Ordering::Relaxed) });
        self.line.store(Some(Arc::clone(&line)));
        self.up.send_replace(true);
        line
    }

    fn retract(&self, number: u64, fault: Fault) {
        *self.down.lock().unwrap_or_else(PoisonError::into_inner) = fault;
        if self.line.load().as_ref().is_some_and(|line| line.number == number) {
            self.line.store(None);
            self.up.send_replace(false);
        }
    }
}

impl Line {
    /// Runs a script, by its name if the server knows it, otherwise by its text. Waits as long as it takes.
    pub(crate) async fn run(&self, body: &impl Body, asking: bool) -> Result<Reply, Trouble> {
        match self.send(body, Naming::Sha, asking).await? {
            // Nothing was run, so it can be sent again.
            Reply::NoScript => self.send(body, Naming::Text, asking).await,
            reply => Ok(reply),
        }
    }

    /// Runs several calls in one breath; each has its own reply.
    pub(crate) async fn run_each(&self, calls: &[&Call]) -> Result<Vec<Reply>, Trouble> {
        let mut replies = self.send_each(calls, Naming::Sha).await?;
        let unknown: Vec<usize> =
            (0..calls.len()).filter(|&index| replies[index] == Reply::NoScript).collect();
        if !unknown.is_empty() {
            let again: Vec<&Call> = unknown.iter().map(|&index| calls[index]).collect();
            for (index, reply) in unknown.into_iter().zip(self.send_each(&again, Naming::Text).await?) {
                replies[index] = reply;
            }
        }
        Ok(replies)
    }

    async fn send_each(&self, calls: &[&Call], naming: Naming) -> Result<Vec<Reply>, Trouble> {
        let pipeline = command::run_each(calls.iter().copied(), naming);
        let answers = self.connection.clone().send_packed_commands(&pipeline, 0, calls.len()).await;
        let replies: Vec<Reply> =
            answers.map_err(|error| trouble_of(&error))?.into_iter().map(Reply::read).collect();
        let complete = replies.len() == calls.len();
        complete.then_some(replies).ok_or(Trouble::after_sending(Fault::Garbled))
    }

    async fn send(&self, body: &impl Body, naming: Naming, asking: bool) -> Result<Reply, Trouble> {
        let command = command::run(body, naming);
        let mut connection = self.connection.clone();
        let answer = if asking {
            let answers = connection.send_packed_commands(&command::asking(command), 1, 1).await;
            answers.map(|mut answers| answers.pop().unwrap_or(Value::Nil))
        } else {
            connection.send_packed_command(&command).await
        };
        answer.map(Reply::read).map_err(|error| trouble_of(&error))
    }

    /// Whether answers come, and belong to what was asked: an echo must say its own name.
    async fn answers_in_step(&self) -> bool {
        let name = self.number.to_string();
        match self.ask(redis::cmd("PING").arg(&name)).await {
            Ok(Reply::Answer(Value::BulkString(echo))) => echo == name.as_bytes(),
            // One that does not want to is there all the same.
            Ok(reply) => matches!(reply, Reply::Refused(_)),
            Err(_) => false,
        }
    }

    /// Asks something that changes nothing.
    pub(crate) async fn ask(&self, command: &redis::Cmd) -> Result<Reply, Trouble> {
        let answer = self.connection.clone().send_packed_command(command).await;
        answer.map(Reply::read).map_err(|error| trouble_of(&error))
    }
}

/// Keeps one connection up.
struct Keeper {
    shared: Arc<Shared>,
    place: Place,
    recipe: Arc<Recipe>,
    health: Arc<Health>,
}

/// The connection that is kept up, and what was used for it.
struct Held {
    line: Arc<Line>,
    password: Option<Secret>,
    certificates: Option<Arc<Files>>,
}

impl Keeper {
    async fn keep(self) {
        let mut backoff = Backoff::default();
        loop {
            match self.recipe.connect(&self.place).await {
                Ok(connected) => {
                    backoff = Backoff::default();
                    self.watch_over(connected).await;
                }
                Err(fault) => {
                    self.cannot_connect(fault);
                    tokio::time::sleep(backoff.next()).await;
                }
            }
        }
    }

    fn cannot_connect(&self, fault: Fault) {
        let fault = if fault == Fault::TimedOut { Fault::Disconnected } else { fault };
        let mut down = self.shared.down.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *down, fault) != fault {
            tracing::warn!(shard = %self.place, kind = fault.kind(), "cannot connect");
        }
    }

    /// Returns when the connection is no good any more.
    async fn watch_over(&self, connected: Connected) {
        let mut held = self.hold(connected);
        self.health.hope();
        while self.is_good(&mut held).await {
            // Whether somebody came or time went by, it is looked at.
            drop(tokio::time::timeout(BETWEEN_LOOKS, self.shared.suspicion.notified()).await);
            if let Some(renewed) = self.renewed(&mut held).await {
                held = self.hold(renewed);
            }
        }
        self.shared.retract(held.line.number, Fault::Disconnected);
        tracing::warn!(shard = %self.place, "the connection is lost");
    }

    /// Has calls go over it from now on. Those under way on the one before are answered there.
    fn hold(&self, connected: Connected) -> Held {
        let Connected { connection, password, certificates } = connected;
        Held { line: self.shared.publish(connection), password, certificates }
    }

    async fn is_good(&self, held: &mut Held) -> bool {
        let looking = async {
            self.renew_password(&held.line, &mut held.password).await;
            held.line.answers_in_step().await
        };
        tokio::time::timeout(self.recipe.patience, looking).await.unwrap_or(false)
    }

    /// Another connection, if there are new certificates that servers accept. If they do not, the one that is there stays.
    async fn renewed(&self, held: &mut Held) -> Option<Connected> {
        let now = self.recipe.certificates().await;
        if now.as_ref().map(Arc::as_ptr) == held.certificates.as_ref().map(Arc::as_ptr) {
            return None;
        }
        held.certificates = now;
        let connected = self.recipe.connect(&self.place).await;
        let accepted = connected.is_ok();
        tracing::info!(shard = %self.place, accepted, "the certificates have changed");
        connected.ok()
    }

    /// Proves who we are again when the password has changed. If that fails, the connection stays what it is.
    async fn renew_password(&self, line: &Line, password: &mut Option<Secret>) {
        let Ok(now) = self.recipe.credentials.password().await else { return };
        if *password == now {
            return;
        }
        if let Some(command) = self.recipe.credentials.command(now.as_ref()) {
            let accepted = matches!(line.ask(&command).await, Ok(Reply::Answer(_)));
            tracing::info!(shard = %self.place, accepted, "the password has changed");
        }
        *password = now;
    }
}
