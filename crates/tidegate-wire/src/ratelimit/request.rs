//! What Envoy asks, and how the engine is asked in its turn.

use std::time::Duration;

use tidegate_engine::{Check, Descriptor, Override};

use super::{Failure, Unit};
use crate::door::Patience;
use crate::trust::{Caller, Trust};

/// What Envoy asks.
#[derive(Default)]
#[cfg_attr(test, derive(Debug))] // never elsewhere: values may be secret
pub(crate) struct Request {
    pub(crate) domain: String,
    pub(crate) descriptors: Vec<Asked>,
    /// The cost of descriptors that have none of their own; 0 is 1.
    pub(crate) hits: u64,
    /// How long whoever asks will wait.
    pub(crate) patience: Patience,
}

/// A descriptor as it is asked about.
#[derive(Default)]
#[cfg_attr(test, derive(Debug))] // never elsewhere: values may be secret
pub(crate) struct Asked {
    pub(crate) entries: Vec<(String, String)>,
    /// A limit in place of the one that the rules have.
    pub(crate) limit: Option<AskedLimit>,
    /// Its own cost.
    pub(crate) hits: Option<u64>,
    /// Whether the cost is given back.
    pub(crate) negative: bool,
}

/// A limit that comes with a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AskedLimit {
    pub(crate) amount: u32,
    pub(crate) unit: Unit,
}

/// What a descriptor is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Its cost is charged.
    Charge,
    /// Is there room for one more?
    Peek,
    /// Its cost is given back.
    Refund,
}

impl Request {
    /// Leaves out what the caller claims without being trusted. Its descriptors stay, so that each has its status.
    pub(crate) fn keep_what_counts(&mut self, trust: &Trust, caller: Caller) {
        self.descriptors.iter_mut().for_each(|asked| trust.filter(caller, &mut asked.entries));
    }

    pub(super) fn validate(&self) -> Result<(), Failure> {
        let unknown = |asked: &Asked| asked.limit.is_some_and(|limit| limit.unit == Unit::Unknown);
        let wrong = if self.domain.is_empty() {
            "rate limit domain must not be empty"
        } else if self.descriptors.is_empty() {
            "rate limit descriptor list must not be empty"
        } else if self.descriptors.iter().any(unknown) {
            "the limit of a descriptor has no known unit; use SECOND, MINUTE, HOUR, DAY, MONTH or YEAR"
        } else {
            // Which domain is asked is configured and never sent by a client: a wrong one should be noticed.
            let domain = Check::new(&self.domain).validate();
            return domain.map_err(|malformed| Failure::Malformed(malformed.to_string()));
        };
        Err(Failure::Malformed(wrong.to_owned()))
    }

    pub(super) fn any(&self, turn: Turn) -> bool {
        self.descriptors.iter().any(|asked| asked.turn() == turn)
    }

    pub(super) fn all(&self, turn: Turn) -> bool {
        self.descriptors.iter().all(|asked| asked.turn() == turn)
    }

    /// What a descriptor costs: its own cost, even of 0, or the request's, which is 1 if it is 0.
    pub(super) fn hits_of(&self, asked: &Asked) -> u64 {
        asked.hits.unwrap_or(self.hits.max(1))
    }

    pub(super) fn entries(&self) -> Vec<Vec<(&str, &str)>> {
        self.descriptors.iter().map(Asked::borrowed).collect()
    }

    pub(super) fn descriptors<'r>(
        &self,
        entries: &'r [Vec<(&'r str, &'r str)>],
        cost: impl Fn(&Asked) -> u64,
    ) -> Vec<Descriptor<'r>> {
        let one = |(asked, entries): (&Asked, &'r Vec<(&'r str, &'r str)>)| Descriptor {
            entries,
            limit: asked.limit.and_then(AskedLimit::as_override),
            cost: Some(cost(asked)),
        };
        self.descriptors.iter().zip(entries).map(one).collect()
    }

    pub(super) fn check<'r>(&'r self, descriptors: &'r [Descriptor<'r>]) -> Check<'r> {
        Check { descriptors, ..Check::new(&self.domain) }
    }

    /// The same for somebody who has so much time left.
    pub(super) fn check_within<'r>(
        &'r self,
        descriptors: &'r [Descriptor<'r>],
        patience: Option<Duration>,
    ) -> Check<'r> {
        Check { patience, ..self.check(descriptors) }
    }
}

impl Asked {
    pub(super) fn turn(&self) -> Turn {
        match self.hits {
            _ if self.negative => Turn::Refund,
            Some(0) => Turn::Peek,
            _ => Turn::Charge,
        }
    }

    pub(super) fn borrowed(&self) -> Vec<(&str, &str)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }
}

impl AskedLimit {
    fn as_override(self) -> Option<Override> {
        let per = Duration::from_secs(self.unit.seconds()?);
        Some(Override { amount: self.amount.into(), per })
    }
}
