//! What nodes that count together do in the background: say that they are there, hear who is, notice what servers have lost and
//! tell it again, pay back what they owe.

mod heard;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tidegate_control::ControlStatus;
use tidegate_core::KeyRef;
use tidegate_engine::Engine;
use tidegate_frontend::door::Clock;
use tidegate_redis::{Heartbeat, Marks, Shard};
use tokio::sync::Mutex;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep, timeout};

pub(crate) use heard::{Heard, News};

use crate::server::Addresses;
use crate::stack::{Shared, Stack};

/// How often it is looked what there is to do for the store.
const LOOK: Duration = Duration::from_millis(50);
/// How often a node says that it is there.
const BEAT: Duration = Duration::from_secs(1);
/// How long a node is taken to be there without being heard of: ten beats.
const TERM: Duration = Duration::from_secs(10);
/// How long a stop waits for the last word.
const LEAVE_WITHIN: Duration = Duration::from_millis(500);

/// A node among others.
pub(crate) struct Together {
    engine: Arc<Engine<Stack>>,
    status: Arc<ControlStatus>,
    clock: Clock,
    id: String,
    addresses: Addresses,
    heard: Arc<Heard>,
    marks: Mutex<Marks>,
}

impl Together {
    /// A node that counts with others, if it does.
    pub(crate) fn new(
        engine: Arc<Engine<Stack>>,
        status: Arc<ControlStatus>,
        clock: Clock,
        addresses: Addresses,
    ) -> Option<Self> {
        engine.store().shared()?;
        let id = format!("{:032x}", random(&clock));
        Some(Self { engine, status, clock, id, addresses, heard: Arc::default(), marks: Mutex::default() })
    }

    pub(crate) fn heard(&self) -> Arc<Heard> {
        Arc::clone(&self.heard)
    }

    /// Goes on for as long as it is polled.
    pub(crate) async fn run(self: Arc<Self>) {
        let Some(shared) = self.engine.store().shared() else { return };
        // Side by side: however long there is something to pay or to tell, the others hear of this node in time.
        tokio::join!(self.say(shared), self.work(shared));
    }

    /// Says that this node is there, and looks whether all counters are, beat by beat.
    async fn say(&self, shared: &Shared) {
        let mut beats = every(BEAT);
        loop {
            beats.tick().await;
            tokio::join!(self.beat(shared, self.told()), self.look(shared));
        }
    }

    /// Pays what is owed and tells what was lost, step by step, debts first.
    async fn work(&self, shared: &Shared) {
        let mut looks = every(LOOK);
        loop {
            looks.tick().await;
            if shared.standing().owing > 0 {
                self.pay(shared).await;
            }
            if shared.standing().untold > 0 {
                let step = || shared.tell_again((self.clock)());
                tokio::join!(step(), step(), step(), step());
            }
        }
    }

    /// Pays some of what is owed to servers that have just shown whether they lost something: a debt counts on top of what is told,
    /// not as a part of it. How many counters owe something after that.
    async fn pay(&self, shared: &Shared) -> usize {
        let silent = self.look(shared).await;
        let may_be_paid = |key: KeyRef<'_>| !silent.iter().any(|shard| shared.inner().is_on(shard, key));
        shared.pay_back_where(may_be_paid, (self.clock)()).await
    }

    /// Looks whether servers have lost their counters: what this node knows of them is to be told again. Those that do not answer.
    async fn look(&self, shared: &Shared) -> Vec<Shard> {
        let mut marks = self.marks.lock().await;
        let looked = shared.inner().look(&mut marks, &self.nonce()).await;
        for shard in &looked.lost {
            let counters = shared.lost(|key| shared.inner().is_on(shard, key), (self.clock)());
            self.heard.lost_one();
            tracing::warn!(
                shard = shard.name(),
                counters,
                "a server has lost its counters: those of long windows are told again"
            );
        }
        looked.silent
    }

    /// Says that this node is gone, so that the others need not wait to find out; what it owes is paid before.
    pub(crate) async fn leave(&self) {
        let Some(shared) = self.engine.store().shared() else { return };
        let last = async {
            while shared.standing().owing > 0 && self.pay(shared).await > 0 {
                // A store that is away refuses at once: without a pause the time would never be up.
                sleep(LOOK).await;
            }
            self.beat(shared, String::new()).await;
        };
        timeout(LEAVE_WITHIN, last).await.ok();
    }

    async fn beat(&self, shared: &Shared, told: String) {
        let is_leaving = told.is_empty();
        let beat = Heartbeat { id: self.id.clone(), told, term: TERM };
        let heard = shared.inner().beat(&beat).await;
        self.heard.take(heard.as_ref());
        if heard.is_err() || is_leaving {
            return;
        }
        let members = self.heard.count();
        if shared.members().get() != members {
            tracing::info!(members, "nodes that count together");
        }
        shared.members().set(members);
    }

    /// A text that nobody has used before.
    fn nonce(&self) -> String {
        format!("{:032x}", random(&self.clock))
    }

    /// What others may know of this node.
    fn told(&self) -> String {
        let address = |address: Option<std::net::SocketAddr>| address.map(|address| address.to_string());
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "format": tidegate_redis::FORMAT,
            "snapshot": self.engine.snapshot().version(),
            "rules": self.status.rules().hash,
            "http": address(self.addresses.http),
            "grpc": address(self.addresses.grpc),
            "resp": address(self.addresses.resp),
            "decisions": self.engine.observed().durations().iter().sum::<u64>(),
        })
        .to_string()
    }
}

/// Ticks at once and then at this pace; what was held up is not made up for.
fn every(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Another number each time, on each node.
fn random(clock: &Clock) -> u128 {
    use std::hash::{BuildHasher as _, RandomState};
    let half =
        |salt: u64| u128::from(RandomState::new().hash_one((salt, clock().as_micros(), std::process::id())));
    half(0) << 64 | half(1)
}
