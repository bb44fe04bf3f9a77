//! From a question to the engine and back: what all doors have in common.
//!
//! It reads the clock, bounds how many checks are under way at once, and tells a decision in headers and problem details.
//! Each door has one of its own, so that a flood through one of them does not close the others.

mod settings;
mod patience;
pub(crate) mod question;
mod commit;
mod partition;
pub(crate) mod told;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tidegate_core::{Ticket, Timestamp};
use tidegate_engine::explain::{Explanation, explain};
use tidegate_engine::{
    Check, Decision, Engine, FlightLimit, Malformed, Pending, PendingThrottle, Settled, Throttle, Throttled,
    Used,
};
use tidegate_net::budget::ListenerBudget;
use tidegate_store::{Hold, Store, StoreError};

pub use partition::PartitionSecret;
pub use settings::{DoorSettings, Undecided};
pub use told::{Told, decision_id};

pub(crate) use told::Viewed;

pub(crate) use commit::Commit;

pub(crate) use tidegate_net::budget::{BudgetShare as Share, ByteBudget as Budget};

pub(crate) use patience::Patience;

/// How long a reservation is held, unless its caller says so.
pub(crate) const DEFAULT_HOLD_MS: u64 = 60_000;

/// Microseconds in milliseconds, rounded up, so that nobody returns too early.
pub(crate) const fn milliseconds(us: u64) -> u64 {
    us.div_ceil(1000)
}

/// What a door reads the time from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A way to the engine. Clones are the same door.
///
/// ```
/// use std::sync::Arc;
/// use tidegate_core::Timestamp;
/// use tidegate_engine::{Check, Engine};
/// use tidegate_store::Reference;
/// use tidegate_frontend::door::{Door, DoorSettings};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let engine = Arc::new(Engine::new(Reference::new()));
/// let door = Door::new(engine, Arc::new(|| Timestamp::ZERO), DoorSettings::default());
/// assert!(door.check(&Check::new("api")).await?.allowed());
/// assert_eq!(door.in_flight(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Door<S> {
    inner: Arc<Inner<S>>,
}

struct Inner<S> {
    engine: Arc<Engine<S>>,
    clock: Clock,
    settings: DoorSettings,
    flights: FlightLimit,
    bodies: ListenerBudget,
    malformed: AtomicU64,
    seed: RandomState,
    draws: AtomicU64,
}

impl<S: Store> Door<S> {
    /// A door to that engine.
    pub fn new(engine: Arc<Engine<S>>, clock: Clock, settings: DoorSettings) -> Self {
        let inner = Inner {
            engine,
            clock,
            flights: FlightLimit::new(settings.most_in_flight),
            // One body of the largest size always fits, with what gRPC puts before it.
            bodies: ListenerBudget::new(
                settings.max_bodies_bytes.max(settings.max_body_bytes.saturating_add(5)),
            ),
            settings,
            malformed: AtomicU64::new(0),
            seed: RandomState::new(),
            draws: AtomicU64::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    /// May this request pass? With too many under way, the class of the domain has the say: comfort passes, security is
    /// shed.
    pub fn check(&self, check: &Check<'_>) -> impl Future<Output = Result<Decision, Malformed>> + Send {
        self.inner.engine.check_within(check, self.now(), &self.inner.flights)
    }

    /// The same as far as it goes without waiting for the store.
    pub(crate) fn try_check(
        &self,
        check: &Check<'_>,
    ) -> Result<Result<Decision, Malformed>, Box<Pending<'_>>> {
        self.inner.engine.try_check(check, self.now())
    }

    /// Would it pass? Nothing is charged.
    pub async fn peek(&self, check: &Check<'_>) -> Result<Decision, Malformed> {
        let now = self.now();
        match self.inner.flights.acquire() {
            Some(_permit) => self.inner.engine.peek(check, now).await,
            None => self.overloaded(check, now),
        }
    }

    /// Goes on with a check that had to wait.
    pub(crate) async fn wait(
        &self,
        pending: Box<Pending<'_>>,
        check: &Check<'_>,
    ) -> Result<Decision, Malformed> {
        self.inner.engine.wait(pending, check, &self.inner.flights).await
    }

    /// May so much pass under a limit that the caller brought? As far as it goes without waiting for the store.
    pub(crate) fn try_throttle(&self, asked: &Throttle<'_>) -> Result<Throttled, Box<PendingThrottle<'_>>> {
        self.inner.engine.try_throttle(asked, self.now())
    }

    /// Goes on with a throttle that had to wait. With too many that wait, it passes as comfort does.
    pub(crate) async fn wait_throttle(&self, pending: Box<PendingThrottle<'_>>) -> Throttled {
        self.inner.engine.wait_throttle(pending, &self.inner.flights).await
    }

    /// Which rules such a check meets, and why not the others. Nothing is asked of a store.
    pub fn explain(&self, check: &Check<'_>) -> Result<Explanation, Malformed> {
        explain(check, &self.inner.engine.snapshot(), self.now())
    }

    /// May it pass, at a cost that is settled later?
    pub async fn reserve(&self, check: &Check<'_>, hold: Hold) -> Result<Decision, Malformed> {
        let now = self.now();
        match self.inner.flights.acquire() {
            Some(_permit) => self.inner.engine.reserve(check, hold, now).await,
            None => self.overloaded(check, now),
        }
    }

    /// Gives back what such a check was charged at that time, or just now. What gives back is never turned away.
    pub async fn refund(
        &self,
        check: &Check<'_>,
        charged_at: Option<Timestamp>,
    ) -> Result<Decision, Malformed> {
        let (now, _permit) = (self.now(), self.inner.flights.acquire_beyond());
        self.inner.engine.refund(check, charged_at.map_or(now, |at| at.min(now)), now).await
    }

    /// Settles a reservation at what was really used.
    pub async fn commit(&self, id: Ticket, used: Used<'_>) -> Result<Settled, Malformed> {
        let (now, _permit) = (self.now(), self.inner.flights.acquire_beyond());
        self.inner.engine.commit(id, used, now).await
    }

    /// Settles a reservation at nothing.
    pub async fn cancel(&self, id: Ticket) -> Settled {
        let (now, _permit) = (self.now(), self.inner.flights.acquire_beyond());
        self.inner.engine.cancel(id, now).await
    }

    /// Gives back the slots that a decision holds.
    pub async fn release(&self, id: Ticket) -> Settled {
        let (now, _permit) = (self.now(), self.inner.flights.acquire_beyond());
        self.inner.engine.release(id, now).await
    }

    /// Lets the slots that a decision holds last another term; how long that is, or `None` if they have ended.
    pub async fn renew(&self, id: Ticket) -> Result<Option<u64>, StoreError> {
        let (now, _permit) = (self.now(), self.inner.flights.acquire_beyond());
        let until = self.inner.engine.renew(id, now).await?;
        Ok(until.map(|until| until.since(now)))
    }

    /// Headers and, for a refusal, the problem that tell the decision on that check.
    pub fn tell(&self, check: &Check<'_>, decision: &Decision) -> Told {
        self.tell_viewed(check, &Viewed::of(decision))
    }

    /// The same for who needs the limits too.
    pub(crate) fn tell_viewed(&self, check: &Check<'_>, viewed: &Viewed<'_>) -> Told {
        told::tell(&self.inner.settings, check, viewed, self.random())
    }

    /// The engine behind it.
    pub fn engine(&self) -> &Arc<Engine<S>> {
        &self.inner.engine
    }

    /// How it is set up.
    pub fn settings(&self) -> &DoorSettings {
        &self.inner.settings
    }

    /// How many calls are under way.
    pub fn in_flight(&self) -> usize {
        self.inner.flights.waiting()
    }

    /// How many checks came when too many were under way.
    pub fn overloads(&self) -> u64 {
        self.inner.flights.refused()
    }

    /// How many checks were so malformed that the engine was not asked; it counts those that it was asked itself.
    pub fn malformed(&self) -> u64 {
        self.inner.malformed.load(Relaxed)
    }

    pub(crate) fn note_malformed(&self) {
        self.inner.malformed.fetch_add(1, Relaxed);
    }

    /// The patience of a caller who waits so long from now on.
    pub(crate) fn patience(&self, lasts: Option<Duration>) -> Patience {
        Patience::new(lasts, || self.now())
    }

    /// What is left of a caller's patience, if it has an end.
    pub(crate) fn left(&self, patience: Patience) -> Option<Duration> {
        patience.left(|| self.now())
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.inner.clock)()
    }

    fn overloaded(&self, check: &Check<'_>, now: Timestamp) -> Result<Decision, Malformed> {
        self.inner.engine.overloaded(check, now)
    }

    /// Another number for each answer, spread evenly; not for secrets.
    fn random(&self) -> u64 {
        self.inner.seed.hash_one(self.inner.draws.fetch_add(1, Relaxed))
    }
}

impl<S> Door<S> {
    /// Its room for bodies, and for whatever else is long.
    pub fn room(&self) -> &ListenerBudget {
        &self.inner.bodies
    }

    /// How many bytes of that are held.
    pub fn body_bytes(&self) -> usize {
        self.room().taken()
    }

    /// How often there was no room in it.
    pub fn bodies_refused(&self) -> u64 {
        self.room().refused()
    }

    pub(crate) fn bodies(&self) -> &Budget {
        self.room().bodies()
    }
}

impl<S> Clone for Door<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<S> fmt::Debug for Door<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door")
            .field("settings", &self.inner.settings)
            .field("in_flight", &self.inner.flights.waiting())
            .finish_non_exhaustive()
    }
}
