//! What was admitted without the store, and is owed to it.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tidegate_core::{KeyBuf, KeyRef, Limit, Timestamp};

use crate::locked;

/// The most counters that owe something at once.
const MOST: usize = 65_536;

/// So many are paid at once.
const PER_PAYMENT: usize = 256;

/// Debts by counter.
#[derive(Default)]
pub(super) struct Ledger {
    debts: Mutex<HashMap<KeyBuf, Owed>>,
    len: AtomicUsize,
    lost: AtomicU64,
}

struct Owed {
    limit: Limit,
    units: u64,
    last: Timestamp,
    /// How often it could not be paid.
    put_off: u32,
}

/// What one counter owes.
pub(super) struct Debt {
    pub(super) key: KeyBuf,
    pub(super) limit: Limit,
    pub(super) units: u64,
}

impl Ledger {
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Debts that found no room.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(super) fn has(&self, key: KeyRef<'_>) -> bool {
        locked(&self.debts).contains_key(&KeyBuf::from(key))
    }

    pub(super) fn add(&self, key: KeyRef<'_>, limit: &Limit, units: u64, now: Timestamp) {
        let mut debts = locked(&self.debts);
        let is_full = debts.len() >= MOST;
        match debts.get_mut(&KeyBuf::from(key)) {
            Some(owed) => {
                *owed = Owed { limit: *limit, units: owed.units.saturating_add(units), last: now, ..*owed };
            }
            None if is_full => {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
            None => {
                debts.insert(key.into(), Owed { limit: *limit, units, last: now, put_off: 0 });
                self.len.store(debts.len(), Ordering::Release);
            }
        }
    }

    /// Takes units off that were given back.
    pub(super) fn subtract(&self, key: KeyRef<'_>, units: u64) {
        if let Some(owed) = locked(&self.debts).get_mut(&KeyBuf::from(key)) {
            owed.units = owed.units.saturating_sub(units);
        }
    }

    /// Those that owe the most, the latest first among equals; before them those that were put off less often, so that counters whose
    /// server is away do not hold up the others.
    pub(super) fn largest(&self) -> Vec<Debt> {
        let debts = locked(&self.debts);
        let mut all: Vec<(&KeyBuf, &Owed)> = debts.iter().collect();
        let most_first = |(_, owed): &(&KeyBuf, &Owed)| (owed.put_off, Reverse((owed.units, owed.last)));
        if all.len() > PER_PAYMENT {
            all.select_nth_unstable_by_key(PER_PAYMENT, most_first);
            all.truncate(PER_PAYMENT);
        }
        all.sort_unstable_by_key(most_first);
        let debt =
            |(key, owed): (&KeyBuf, &Owed)| Debt { key: key.clone(), limit: owed.limit, units: owed.units };
        all.into_iter().map(debt).collect()
    }

    /// Lets others go first the next time.
    pub(super) fn put_off(&self, debt: &Debt) {
        if let Some(owed) = locked(&self.debts).get_mut(&debt.key) {
            owed.put_off = owed.put_off.saturating_add(1);
        }
    }

    /// Takes off what was paid; whether nothing is owed any more.
    pub(super) fn paid(&self, debt: &Debt) -> bool {
        let mut debts = locked(&self.debts);
        let Some(owed) = debts.get_mut(&debt.key) else { return true };
        owed.units = owed.units.saturating_sub(debt.units);
        let is_over = owed.units == 0;
        if is_over {
            debts.remove(&debt.key);
            self.len.store(debts.len(), Ordering::Release);
        }
        is_over
    }

    pub(super) fn forget(&self, key: KeyRef<'_>) {
        let mut debts = locked(&self.debts);
        debts.remove(&KeyBuf::from(key));
        self.len.store(debts.len(), Ordering::Release);
    }

    /// Forgets all; how many there were.
    pub(super) fn purge(&self) -> usize {
        let mut debts = locked(&self.debts);
        let count = debts.len();
        debts.clear();
        self.len.store(0, Ordering::Release);
        count
    }
}
