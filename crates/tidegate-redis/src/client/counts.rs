//! What is counted about servers, for whoever exports it. Counts stay when a server goes and go on when it comes back.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::breaker::Circuit;

use crate::Fault;

/// Servers that are counted apart; those beyond are counted together.
const MOST: usize = 1024;

/// What happened with one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardReport {
    /// Its name: host and port.
    pub shard: String,
    /// What its circuit does, if it is asked at all now.
    pub circuit: Option<Circuit>,
    /// Whether there is a connection.
    pub connected: bool,
    /// Why there is none.
    pub down: Option<Fault>,
    /// Calls under way.
    pub in_flight: usize,
    /// Calls that had an answer in time.
    pub in_time: u64,
    /// Calls that had none in time.
    pub late: u64,
    /// Calls that came to nothing, by the [kind](Fault::kind) of fault.
    pub errors: BTreeMap<&'static str, u64>,
    /// How often the circuit changed to each state.
    pub transitions: [(Circuit, u64); 3],
}

/// Counts of one server.
#[derive(Default)]
pub(crate) struct Counts {
    in_time: AtomicU64,
    late: AtomicU64,
    errors: Mutex<BTreeMap<&'static str, u64>>,
    transitions: [AtomicU64; 3],
}

impl Counts {
    pub(crate) fn answered(&self) {
        self.in_time.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self, fault: Fault) {
        if fault == Fault::TimedOut {
            self.late.fetch_add(1, Ordering::Relaxed);
        }
        *self.errors.lock().unwrap_or_else(PoisonError::into_inner).entry(fault.kind()).or_default() += 1;
    }

    pub(crate) fn turned(&self, circuit: Circuit) {
        self.transitions[circuit as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn report(&self, shard: &str) -> ShardReport {
        let turned = |circuit: Circuit| self.transitions[circuit as usize].load(Ordering::Relaxed);
        ShardReport {
            shard: shard.to_owned(),
            circuit: None,
            connected: false,
            down: None,
            in_flight: 0,
            in_time: self.in_time.load(Ordering::Relaxed),
            late: self.late.load(Ordering::Relaxed),
            errors: self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            transitions: Circuit::ALL.map(|circuit| (circuit, turned(circuit))),
        }
    }
}

/// Counts of all servers there ever were.
#[derive(Default)]
pub(crate) struct Ledger {
    counts: Mutex<BTreeMap<String, Arc<Counts>>>,
}

impl Ledger {
    /// The counts of a server.
    pub(crate) fn of(&self, shard: &str) -> Arc<Counts> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let name = if counts.len() < MOST || counts.contains_key(shard) { shard } else { "others" };
        Arc::clone(counts.entry(name.to_owned()).or_default())
    }

    /// What was counted so far.
    pub(crate) fn reports(&self) -> Vec<ShardReport> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(shard, counts)| counts.report(shard)).collect()
    }
}
