//! A question as it came, owned, and as the engine takes it.

use std::time::Duration;

use tidegate_core::{Ticket, Timestamp};
use tidegate_engine::{Check, Decision, Descriptor, Malformed};
use tidegate_store::{Hold, Store};

use super::{DEFAULT_HOLD_MS, Door, Patience};
use tidegate_wire::trust::{Caller, Trust};

/// How long a reservation is held at most.
pub(crate) const MAX_HOLD_MS: u64 = 24 * 60 * 60 * 1000;

/// What is asked about a check.
#[derive(Clone, Copy)]
pub(crate) enum Ask {
    Check,
    Peek,
    Reserve(Hold),
    Refund(Option<Timestamp>),
}

impl Ask {
    /// Whether something was to be given back, and nobody could.
    pub(crate) fn came_to_nothing(self, decision: &Decision) -> bool {
        matches!(self, Self::Refund(_)) && decision.is_uncounted()
    }
}

/// The same, and who asks.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) ask: Ask,
    pub(crate) patience: Patience,
    pub(crate) caller: Caller,
}

impl<S: Store> Door<S> {
    /// Asks, and gives what came of it to whoever tells it. What the caller's word does not count for is left out.
    pub(crate) async fn ask<T>(
        &self,
        mut question: Question,
        Asked { ask, patience, caller }: Asked,
        tell: impl FnOnce(&Check<'_>, Result<Decision, Malformed>) -> T,
    ) -> T {
        question.keep_what_counts(&self.settings().trust, caller);
        let pairs = question.pairs();
        let descriptors = pairs.descriptors();
        let check = question.check(&pairs, &descriptors, self.left(patience));
        let decided = self.decide(&check, ask).await;
        tell(&check, decided)
    }

    /// Asks what is asked about a check. What is asked less often is apart, so that checks do not carry its room about.
    pub(crate) async fn decide(&self, check: &Check<'_>, ask: Ask) -> Result<Decision, Malformed> {
        match ask {
            Ask::Check => self.check(check).await,
            Ask::Peek => Box::pin(self.peek(check)).await,
            Ask::Reserve(hold) => Box::pin(self.reserve(check, hold)).await,
            Ask::Refund(charged_at) => Box::pin(self.refund(check, charged_at)).await,
        }
    }
}

/// A check, owned.
pub(crate) struct Question {
    /// Without it, the only domain of the rules is meant.
    pub(crate) domain: Option<String>,
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
            domain: self.domain.as_deref().unwrap_or_default(),
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
        self.entries.iter().map(|entries| Descriptor::new(entries)).collect()
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
