//! What nodes that count together do in the background: say that they are there, hear who is, pay back what they owe.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tidegate_engine::Engine;
use tidegate_redis::{Assembly, Heartbeat, Member};
use tidegate_store::StoreError;
use tidegate_wire::door::Clock;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use crate::server::Addresses;
use crate::stack::{Shared, Stack};

/// How often debts are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How often a node says that it is there.
const BEAT: Duration = Duration::from_secs(1);
/// How long a node is taken to be there without being heard of: ten beats.
const TERM: Duration = Duration::from_secs(10);
/// For how many beats a node is counted that is not heard of any more: a store that comes back empty hears of them one by one, and
/// parts must not grow meanwhile.
const GRACE: usize = 3;
/// How long a stop waits for the last word.
const LEAVE_WITHIN: Duration = Duration::from_millis(500);

/// A node among others.
pub(crate) struct Together {
    engine: Arc<Engine<Stack>>,
    clock: Clock,
    id: String,
    addresses: Addresses,
    heard: Arc<Heard>,
}

/// What was last heard of the others.
#[derive(Debug, Default)]
pub(crate) struct Heard(Mutex<News>);

/// What was heard, and what became of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct News {
    /// Who is there, as of the last time that anybody could say.
    pub(crate) members: Vec<Member>,
    /// Whether that was the last time that it was asked.
    pub(crate) is_fresh: bool,
    /// How often counters were found to be lost.
    pub(crate) losses: u64,
    epoch: Option<String>,
    /// How many there were at the last beats, the latest first.
    counts: [usize; GRACE],
}

impl Heard {
    /// What was last heard.
    pub(crate) fn get(&self) -> News {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many there are: the most of the last few beats.
    fn count(&self) -> u32 {
        let most = self.get().counts.into_iter().max().unwrap_or(1);
        u32::try_from(most).unwrap_or(u32::MAX).max(1)
    }

    /// Takes what was heard; whether counters were lost since the time before.
    fn take(&self, heard: Result<&Assembly, &StoreError>) -> bool {
        let mut news = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        news.is_fresh = heard.is_ok();
        let Ok(assembly) = heard else { return false };
        news.members.clone_from(&assembly.members);
        news.counts.rotate_right(1);
        news.counts[0] = assembly.members.len();
        let before = news.epoch.replace(assembly.epoch.clone());
        let is_lost = before.is_some_and(|before| before != assembly.epoch);
        news.losses += u64::from(is_lost);
        is_lost
    }
}

impl Together {
    /// A node that counts with others, if it does.
    pub(crate) fn new(engine: Arc<Engine<Stack>>, clock: Clock, addresses: Addresses) -> Option<Self> {
        engine.store().shared()?;
        let id = format!("{:032x}", random(&clock));
        Some(Self { engine, clock, id, addresses, heard: Arc::default() })
    }

    pub(crate) fn heard(&self) -> Arc<Heard> {
        Arc::clone(&self.heard)
    }

    /// Goes on for as long as it is polled.
    pub(crate) async fn run(self: Arc<Self>) {
        let Some(shared) = self.engine.store().shared() else { return };
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut next_beat = Instant::now();
        loop {
            looks.tick().await;
            if shared.standing().owing > 0 {
                shared.pay_back((self.clock)()).await;
            }
            if next_beat <= Instant::now() {
                next_beat = Instant::now() + BEAT;
                self.beat(shared, self.told()).await;
            }
        }
    }

    /// Says that this node is gone, so that the others need not wait to find out; what it owes is paid before.
    pub(crate) async fn leave(&self) {
        let Some(shared) = self.engine.store().shared() else { return };
        let last = async {
            while shared.standing().owing > 0 && shared.pay_back((self.clock)()).await > 0 {
                // A store that is away refuses at once: without a pause the time would never be up.
                sleep(LOOK).await;
            }
            self.beat(shared, String::new()).await;
        };
        timeout(LEAVE_WITHIN, last).await.ok();
    }

    async fn beat(&self, shared: &Shared, told: String) {
        let (is_leaving, epoch) = (told.is_empty(), format!("{:032x}", random(&self.clock)));
        let beat = Heartbeat { id: self.id.clone(), told, term: TERM, epoch };
        let heard = shared.inner().beat(&beat).await;
        let is_lost = self.heard.take(heard.as_ref());
        let Ok(assembly) = heard else { return };
        if is_lost {
            let counters = shared.tell_again(&assembly.epoch, (self.clock)()).await;
            tracing::warn!(
                counters,
                "the store has lost its counters: those of long windows were told again"
            );
        }
        shared.confirm();
        if !is_leaving {
            let members = self.heard.count();
            if shared.members().get() != members {
                tracing::info!(members, "nodes that count together");
            }
            shared.members().set(members);
        }
    }

    /// What others may know of this node.
    fn told(&self) -> String {
        let address = |address: Option<std::net::SocketAddr>| address.map(|address| address.to_string());
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "format": tidegate_redis::FORMAT,
            "snapshot": self.engine.snapshot().version(),
            "http": address(self.addresses.http),
            "grpc": address(self.addresses.grpc),
            "resp": address(self.addresses.resp),
            "decisions": self.engine.observed().durations().iter().sum::<u64>(),
        })
        .to_string()
    }
}

/// Another number each time, on each node.
fn random(clock: &Clock) -> u128 {
    use std::hash::{BuildHasher as _, RandomState};
    let half =
        |salt: u64| u128::from(RandomState::new().hash_one((salt, clock().as_micros(), std::process::id())));
    half(0) << 64 | half(1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidegate_redis::{Assembly, Member};

    use super::Heard;

    fn assembly(epoch: &str, nodes: usize) -> Assembly {
        let member = |id: usize| Member { id: id.to_string(), age: Duration::ZERO, told: String::new() };
        Assembly { epoch: epoch.to_owned(), members: (0..nodes).map(member).collect() }
    }

    #[test]
    fn nodes_are_not_forgotten_by_a_store_that_comes_back_empty() {
        let heard = Heard::default();
        assert!(!heard.take(Ok(&assembly("first", 3))));
        assert!(heard.take(Ok(&assembly("second", 1))));
        assert_eq!((heard.count(), heard.get().losses), (3, 1));
    }

    #[test]
    fn nodes_that_stay_away_are_forgotten_after_a_few_beats() {
        let heard = Heard::default();
        for (nodes, counted) in [(3, 3), (2, 3), (2, 3), (2, 2), (4, 4)] {
            heard.take(Ok(&assembly("only", nodes)));
            assert_eq!(heard.count(), counted);
        }
    }
}
