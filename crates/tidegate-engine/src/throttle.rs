//! Limits that callers bring along: a key and numbers, and no rule at all. A short way past matching and resolving, to the
//! same store.

use std::sync::LazyLock;
use std::time::Instant;

use tidegate_core::{EncodedParts, Limit, Plan, PreparedKey, Ticket, Timestamp, Verdict};
use tidegate_store::{Store, StoreError};

use crate::check::Check;
use crate::contain::{Panicked, contain, contained};
use crate::decision::{Consistency, Trouble};
use crate::engine::Engine;
use crate::last_resort::{Asked, Question};
use crate::settle;

/// What homes of such counters begin with: a domain without a name, which no rule and no check can have.
static DOMAIN: LazyLock<EncodedParts> = LazyLock::new(|| EncodedParts::new(&[b""]));

/// What they count, in the place where a rule's counters have the name of their limit.
static COUNTED: LazyLock<EncodedParts> = LazyLock::new(|| EncodedParts::new(&[b"throttle"]));

/// Their share of a store's memory, as a rule has one.
static SHARE: LazyLock<u32> = LazyLock::new(|| {
    let [.., a, b, c, d] = EncodedParts::digest(&[b"", b"throttle"]).to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
});

/// Keys up to so many bytes need no room of their own.
const SHORT_KEY_BYTES: usize = 128;

/// A counter of the caller's choice and what it is held to.
#[derive(Clone, Copy)]
pub struct Throttle<'a> {
    /// The counter's name: other names, other counters, whatever bytes they have.
    pub key: &'a [u8],
    /// What it is held to. It may be another one each time: what was counted before is kept.
    pub limit: Limit,
    /// Units asked for; 0 charges nothing.
    pub cost: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// Whether it may pass, and what is left.
    pub verdict: Verdict,
    /// How exact that is.
    pub state: Consistency,
}

impl Throttle<'_> {
    /// The word of a store that needs no plan for it, and no time.
    fn at_once(&self, store: &impl Store, now: Timestamp) -> Option<Verdict> {
        if self.cost == 0 || !store.answers_at_once() {
            return None;
        }
        let mut room = [0; SHORT_KEY_BYTES];
        let (key, _) = key(&[self.key]).encode_into(&mut room)?;
        store.decide_one_at_once(key, &self.limit.in_share(*SHARE), self.cost, now)
    }

    fn plan(&self, ticket: Ticket) -> Plan {
        let limit = self.limit.in_share(*SHARE);
        let mut plan = Plan::new();
        plan.set_ticket(ticket);
        plan.charge(key(&[self.key]), limit, self.cost)
            .expect("one charge is a plan, and a part of a key that is long is hashed");
        plan
    }
}

/// The key of such a counter, by its name.
fn key<'k>(name: &'k [&'k [u8]]) -> PreparedKey<'k> {
    PreparedKey { front: &DOMAIN, home: name, back: &COUNTED, own: &[] }
}

/// Keys may be secret.
impl std::fmt::Debug for Throttle<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Throttle")
            .field("limit", &self.limit)
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}

impl<S: Store> Engine<S> {
    /// May so much pass under a limit that the caller brought? If nobody can say, it is treated as comfort is.
    pub async fn throttle(&self, asked: &Throttle<'_>, now: Timestamp) -> Throttled {
        let started = Instant::now();
        let answer = match contain(|| asked.at_once(self.store(), now)) {
            Ok(Some(verdict)) => Ok(Ok(Throttled { verdict, state: Consistency::Exact })),
            Ok(None) => contained(self.throttle_as_plan(asked, now)).await,
            Err(panicked) => Err(panicked),
        };
        let throttled = match answer {
            Ok(Ok(throttled)) => throttled,
            Ok(Err(_)) => self.uncounted(asked, Trouble::Store, now),
            Err(Panicked) => {
                self.observed().panicked();
                self.uncounted(asked, Trouble::Panic, now)
            }
        };
        self.observed().throttle(throttled.verdict.allowed(), started.elapsed());
        throttled
    }

    async fn throttle_as_plan(&self, asked: &Throttle<'_>, now: Timestamp) -> Result<Throttled, StoreError> {
        let plan = asked.plan(self.next_ticket());
        let answer = match asked.cost {
            0 => self.store().read(&plan, now).await?,
            _ => self.store().decide(&plan, now).await?,
        };
        let state = if answer.local { Consistency::Local } else { Consistency::Exact };
        Ok(Throttled { verdict: answer.verdicts[0], state })
    }

    /// The same where there is no time to ask.
    pub fn throttle_overloaded(&self, asked: &Throttle<'_>, now: Timestamp) -> Throttled {
        let started = Instant::now();
        let throttled = self.uncounted(asked, Trouble::Overload, now);
        self.observed().throttle(throttled.verdict.allowed(), started.elapsed());
        throttled
    }

    #[cold]
    fn uncounted(&self, asked: &Throttle<'_>, trouble: Trouble, now: Timestamp) -> Throttled {
        let check = Check::new("");
        let way = if asked.cost == 0 { Asked::ToSee } else { Asked::ToPass };
        let last = Question { resort: self.last_resort(), check: &check, asked: way };
        let (verdict, came) = settle::uncounted(&asked.limit, trouble, &last, now);
        self.observed().undecided_throttle(came, verdict.allowed());
        Throttled { verdict, state: Consistency::Open }
    }
}
