//! A question as it came, owned, and as the engine takes it.

use std::time::Duration;

use tidegate_core::Ticket;
use tidegate_engine::{Check, Descriptor};
use tidegate_store::Hold;

use crate::trust::{Caller, Trust};

/// How long a reservation is held, unless its caller says so, and at most.
const DEFAULT_HOLD_MS: u64 = 60_000;
const MAX_HOLD_MS: u64 = 24 * 60 * 60 * 1000;

/// A check, owned.
pub(crate) struct Question {
    pub(crate) domain: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) descriptors: Vec<Vec<(String, String)>>,
    pub(crate) cost: u64,
    pub(crate) idempotency_key: Option<String>,
}

/// The same as the engine takes it, but for the outermost slices.
pub(crate) struct Pairs<'q> {
    attributes: Vec<(&'q str, &'q str)>,
    entries: Vec<Vec<(&'q str, &'q str)>>,
}

impl Question {
    /// Leaves out what the caller claims without being trusted.
    pub(crate) fn keep_what_counts(&mut self, trust: &Trust, caller: Caller) {
        trust.filter(caller, &mut self.attributes);
        self.descriptors.iter_mut().for_each(|entries| trust.filter(caller, entries));
    }

    pub(crate) fn pairs(&self) -> Pairs<'_> {
        Pairs {
            attributes: borrowed(&self.attributes),
            entries: self.descriptors.iter().map(|entries| borrowed(entries)).collect(),
        }
    }

    pub(crate) fn check<'q>(
        &'q self,
        pairs: &'q Pairs<'q>,
        descriptors: &'q [Descriptor<'q>],
        patience: Option<Duration>,
    ) -> Check<'q> {
        Check {
            domain: &self.domain,
            attributes: &pairs.attributes,
            descriptors,
            cost: self.cost,
            idempotency_key: self.idempotency_key.as_deref(),
            patience,
        }
    }
}

impl Pairs<'_> {
    pub(crate) fn descriptors(&self) -> Vec<Descriptor<'_>> {
        self.entries.iter().map(|entries| Descriptor { entries, limit: None, cost: None }).collect()
    }
}

fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// How a reservation is held; what is wrong with that.
pub(crate) fn hold(ms: Option<u64>, gives_back: bool) -> Result<Hold, String> {
    let ms = ms.unwrap_or(DEFAULT_HOLD_MS);
    if !(1..=MAX_HOLD_MS).contains(&ms) {
        return Err(format!("`hold_ms` should be from 1 to {MAX_HOLD_MS}"));
    }
    let hold = Hold::lasting(Duration::from_millis(ms));
    Ok(if gives_back { hold.then_given_back() } else { hold })
}

/// The id of a decision from its digits; what is wrong with them.
pub(crate) fn ticket(digits: &str) -> Result<Ticket, String> {
    let sound = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u128::from_str_radix(digits, 16).ok().filter(|_| sound);
    number.map(Ticket).ok_or_else(|| "`id` should be the 32 hexadecimal digits of a decision".to_owned())
}
