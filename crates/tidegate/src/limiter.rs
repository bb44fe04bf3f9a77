//! The limiter: a store, a clock, and the few questions that one asks of them.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_core::{Plan, Ticket, Timestamp, Verdict};
use tidegate_store::reference::{DEFAULT_CAP_BYTES, Usage};
use tidegate_store::{Answer, Hold, Memory};

use crate::Error;
use crate::clock::{Clock, SystemClock};
use crate::decision::{Admission, Decision};
use crate::guard::Guard;
use crate::reservation::Reservation;
use crate::rule::{Ask, Rule, decide_few, fill, rules_of};

/// Decides, in memory, for all threads of a process. Clones share their counters.
#[derive(Debug)]
pub struct Limiter<C = SystemClock> {
    pub(crate) inner: Arc<Inner<C>>,
}

#[derive(Debug)]
pub(crate) struct Inner<C> {
    pub(crate) store: Memory,
    pub(crate) clock: C,
    tickets: Tickets,
}

/// Tickets that no other limiter gives out: a random half and a counted one.
#[derive(Debug)]
struct Tickets {
    secret: u64,
    next: AtomicU64,
}

impl Limiter {
    /// A limiter on the system's clock that holds at most 256 MiB of counters.
    pub fn new() -> Self {
        Self::with_clock(SystemClock::new())
    }

    /// A limiter on the system's clock that holds at most so many bytes: see [`Limiter::with_clock_and_cap`].
    pub fn with_cap(cap_bytes: usize) -> Self {
        Self::with_clock_and_cap(SystemClock::new(), cap_bytes)
    }
}

impl Default for Limiter {
    fn default() -> Self {
        Self::new()
    }
}

impl<C> Clone for Limiter<C> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<C: Clock> Limiter<C> {
    /// A limiter on that clock.
    pub fn with_clock(clock: C) -> Self {
        Self::with_clock_and_cap(clock, DEFAULT_CAP_BYTES)
    }

    /// A limiter on that clock that holds at most so many bytes of counters (at least 1 MiB). When it is full, counters
    /// that are empty again make room first, then those that have used the least of their limits; see [`Limiter::usage`].
    pub fn with_clock_and_cap(clock: C, cap_bytes: usize) -> Self {
        let tickets = Tickets { secret: RandomState::new().hash_one("ticket"), next: AtomicU64::new(0) };
        Self { inner: Arc::new(Inner { store: Memory::with_cap(cap_bytes), clock, tickets }) }
    }

    /// May one more request with that key pass under the rule?
    pub fn check<'a>(
        &self,
        rule: &'a Rule,
        key: &(impl AsRef<[u8]> + ?Sized),
    ) -> Result<Decision<'a>, Error> {
        let ask = rule.on(key);
        let now = self.inner.clock.now();
        match ask.decide(&self.inner.store, now) {
            Some(verdict) => {
                let answer = Answer::to_one(Ticket::default(), verdict);
                Ok(Decision::new(std::iter::once(rule).collect(), answer, now))
            }
            None => self.check_all(&[ask]),
        }
    }

    /// The same as [`check`](Limiter::check), with the bare verdict: what a hot path needs and no more.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tidegate::{Limit, Limiter, Rate, Rule};
    /// let limiter = Limiter::new();
    /// let per_user = Rule::new("per-user", Limit::gcra(Rate::new(10, Duration::from_secs(1))?, 3)?)?;
    /// let verdict = limiter.verdict(&per_user, "alice")?;
    /// assert_eq!((verdict.allowed(), verdict.remaining), (true, 2));
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    #[inline]
    pub fn verdict(&self, rule: &Rule, key: &(impl AsRef<[u8]> + ?Sized)) -> Result<Verdict, Error> {
        let ask = rule.on(key);
        match ask.decide(&self.inner.store, self.inner.clock.now()) {
            Some(verdict) => Ok(verdict),
            None => self.verdict_of_plan(ask),
        }
    }

    #[inline(never)]
    fn verdict_of_plan(&self, ask: Ask<'_, '_>) -> Result<Verdict, Error> {
        Ok(self.check_all(&[ask])?.only_verdict())
    }

    /// May a request pass that meets all of these at once? It is charged to all of them or to none.
    pub fn check_all<'a>(&self, asks: &[Ask<'a, '_>]) -> Result<Decision<'a>, Error> {
        let now = self.inner.clock.now();
        let answer = match decide_few(&self.inner.store, asks, now) {
            Some(verdicts) if !asks.is_empty() => Answer::to_all(Ticket::default(), verdicts),
            _ => self.decide(asks, now)?,
        };
        Ok(Decision::new(rules_of(asks), answer, now))
    }

    #[inline(never)]
    fn decide(&self, asks: &[Ask<'_, '_>], now: Timestamp) -> Result<Answer, Error> {
        holds_nothing(asks)?;
        let mut plan = Plan::new();
        fill(&mut plan, asks)?;
        Ok(self.inner.store.decide_now(&plan, now)?)
    }

    /// What is left for that key, with nothing charged.
    pub fn peek<'a>(&self, rule: &'a Rule, key: &(impl AsRef<[u8]> + ?Sized)) -> Result<Decision<'a>, Error> {
        let mut plan = Plan::new();
        fill(&mut plan, &[rule.on(key).cost(0)])?;
        let now = self.inner.clock.now();
        let answer = self.inner.store.read_now(&plan, now)?;
        Ok(Decision::new(std::iter::once(rule).collect(), answer, now))
    }

    /// Takes a slot of every concurrency limit among these, and charges the others. The guard gives the slots back when it
    /// is dropped; what was charged to the others stays.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::{Limit, Limiter, Rule};
    ///
    /// let limiter = Limiter::new();
    /// let room = Rule::new("room", Limit::concurrency(1, Duration::from_secs(30))?)?;
    /// let guard = limiter.enter(&[room.on("alice")])?.admitted().expect("the room is empty");
    /// let refusal = limiter.enter(&[room.on("alice")])?.into_result().unwrap_err();
    /// assert_eq!(refusal.denied_by().next(), Some("room"));
    /// drop(guard);
    /// assert!(limiter.enter(&[room.on("alice")])?.admitted().is_some());
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    pub fn enter<'a>(&self, asks: &[Ask<'a, '_>]) -> Result<Admission<'a, Guard<C>>, Error> {
        let mut plan = Plan::new();
        fill(&mut plan, asks)?;
        plan.set_ticket(self.inner.tickets.next());
        let now = self.inner.clock.now();
        let answer = self.inner.store.decide_now(&plan, now)?;
        let guard = answer.allowed().then(|| Guard::new(self.clone(), plan, now));
        Ok(Admission::new(Decision::new(rules_of(asks), answer, now), guard))
    }

    /// Charges an estimate now; [`Reservation::commit`] replaces it by the truth.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::{Hold, Limit, Limiter, Rule};
    ///
    /// let limiter = Limiter::new();
    /// let tokens = Rule::new("tokens", Limit::sliding_window(10_000, Duration::from_secs(60))?)?;
    /// let hold = Hold::lasting(Duration::from_secs(30));
    /// let reservation = limiter.reserve(&[tokens.on("alice").cost(4_000)], hold)?.admitted().expect("there is room");
    /// reservation.commit(1_250)?;
    /// assert_eq!(limiter.peek(&tokens, "alice")?.remaining(), 8_750);
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    pub fn reserve<'a>(
        &self,
        asks: &[Ask<'a, '_>],
        hold: Hold,
    ) -> Result<Admission<'a, Reservation<C>>, Error> {
        let mut plan = Plan::new();
        fill(&mut plan, asks)?;
        let ticket = self.inner.tickets.next();
        plan.set_ticket(ticket);
        let now = self.inner.clock.now();
        let answer = self.inner.store.reserve_now(&plan, hold, now)?;
        let reservation = answer.allowed().then(|| Reservation::new(self.clone(), ticket, plan.len()));
        Ok(Admission::new(Decision::new(rules_of(asks), answer, now), reservation))
    }

    /// Gives back what these asks cost when they were decided at that instant, as far as it still counts.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::{Limit, Limiter, Rule};
    ///
    /// let limiter = Limiter::new();
    /// let orders = Rule::new("orders", Limit::sliding_log(10, Duration::from_secs(60))?)?;
    /// let decision = limiter.check(&orders, "alice")?;
    /// limiter.refund(&[orders.on("alice")], decision.at())?; // the order failed; it should not count
    /// assert_eq!(limiter.peek(&orders, "alice")?.remaining(), 10);
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    pub fn refund(&self, asks: &[Ask<'_, '_>], charged_at: Timestamp) -> Result<(), Error> {
        holds_nothing(asks)?;
        let mut plan = Plan::new();
        fill(&mut plan, asks)?;
        Ok(self.inner.store.refund_now(&plan, charged_at, self.inner.clock.now())?)
    }

    /// Forgets what was counted for that key under the rule; whether there was anything.
    pub fn reset(&self, rule: &Rule, key: &(impl AsRef<[u8]> + ?Sized)) -> Result<bool, Error> {
        let mut plan = Plan::new();
        fill(&mut plan, &[rule.on(key)])?;
        Ok(self.inner.store.reset_now(&plan, self.inner.clock.now()) > 0)
    }

    /// How much the limiter holds, and how many counters it had to drop to stay within its bytes.
    pub fn usage(&self) -> Usage {
        self.inner.store.usage()
    }

    /// The present instant on the limiter's clock.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }
}

/// Slots are given back by their guards, and by nobody else.
fn holds_nothing(asks: &[Ask<'_, '_>]) -> Result<(), Error> {
    match asks.iter().find(|ask| ask.rule.limit().term_us().is_some()) {
        Some(ask) => Err(Error::NeedsGuard { rule: ask.rule.name().to_owned() }),
        None => Ok(()),
    }
}

impl Tickets {
    fn next(&self) -> Ticket {
        let counted = self.next.fetch_add(1, Ordering::Relaxed);
        Ticket(u128::from(self.secret) << 64 | u128::from(counted))
    }
}

#[cfg(test)]
mod tests;
