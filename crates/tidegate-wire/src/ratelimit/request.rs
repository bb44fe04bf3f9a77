//! What Envoy asks, and how the engine is asked in its turn.

use std::time::Duration;

use smallvec::SmallVec;
use tidegate_engine::{Charging, Check, Descriptor, Override};

use super::{Failure, Unit};
use crate::door::Patience;
use crate::trust::{Caller, Trust};

/// What Envoy asks, in the words that it was sent in.
#[derive(Default)]
#[cfg_attr(test, derive(Debug, PartialEq))] // never elsewhere: values may be secret
pub(crate) struct Request<'r> {
    pub(crate) domain: &'r str,
    pub(crate) descriptors: SmallVec<[Asked<'r>; 4]>,
    /// The cost of descriptors that have none of their own; 0 is 1.
    pub(crate) hits: u64,
    /// How long whoever asks will wait.
    pub(crate) patience: Patience,
}

/// A descriptor as it is asked about.
#[derive(Default)]
#[cfg_attr(test, derive(Debug, PartialEq))] // never elsewhere: values may be secret
pub(crate) struct Asked<'r> {
    pub(crate) entries: SmallVec<[(&'r str, &'r str); 2]>,
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

impl Request<'_> {
    /// Leaves out what the caller claims without being trusted. Its descriptors stay, so that each has its status.
    pub(crate) fn keep_what_counts(&mut self, trust: &Trust, caller: Caller) {
        if !caller.is_trusted() {
            let counts = |(attribute, _): &mut (&str, &str)| !trust.ignores(caller, attribute);
            self.descriptors.iter_mut().for_each(|asked| asked.entries.retain(counts));
        }
    }

    pub(super) fn validate(&self) -> Result<(), Failure> {
        let unknown = |asked: &Asked<'_>| asked.limit.is_some_and(|limit| limit.unit == Unit::Unknown);
        let wrong = if self.domain.is_empty() {
            "rate limit domain must not be empty"
        } else if self.descriptors.is_empty() {
            "rate limit descriptor list must not be empty"
        } else if self.descriptors.iter().any(unknown) {
            "the limit of a descriptor has no known unit; use SECOND, MINUTE, HOUR, DAY, MONTH or YEAR"
        } else {
            // Which domain is asked is configured and never sent by a client: a wrong one should be noticed.
            let domain = Check::new(self.domain).validate();
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
    pub(super) fn hits_of(&self, asked: &Asked<'_>) -> u64 {
        asked.hits.unwrap_or(self.hits.max(1))
    }

    pub(super) fn descriptors(&self, cost: impl Fn(&Asked<'_>) -> u64) -> SmallVec<[Descriptor<'_>; 4]> {
        self.descriptors.iter().map(|asked| asked.descriptor(cost(asked))).collect()
    }

    pub(super) fn check<'c>(&'c self, descriptors: &'c [Descriptor<'c>]) -> Check<'c> {
        Check { descriptors, ..Check::new(self.domain) }
    }

    /// The same for somebody who has so much time left.
    pub(super) fn check_within<'c>(
        &'c self,
        descriptors: &'c [Descriptor<'c>],
        patience: Option<Duration>,
    ) -> Check<'c> {
        Check { patience, ..self.check(descriptors) }
    }
}

impl Asked<'_> {
    fn descriptor(&self, cost: u64) -> Descriptor<'_> {
        let limit = self.limit.and_then(AskedLimit::as_override);
        Descriptor { limit, cost: Some(cost), charging: self.charging(), ..Descriptor::new(&self.entries) }
    }

    /// A descriptor with a cost of its own is charged even if it is refused, as envoyproxy/ratelimit charges it: Envoy sends
    /// such costs at the end of a stream, when they have arisen already, and does not say that it is the end.
    fn charging(&self) -> Charging {
        match self.turn() {
            Turn::Peek => Charging::Peek,
            Turn::Charge if self.is_late() => Charging::Late,
            Turn::Charge | Turn::Refund => Charging::IfAdmitted,
        }
    }

    /// Whether it brings a cost that is charged in any case.
    pub(super) fn is_late(&self) -> bool {
        self.turn() == Turn::Charge && self.hits.is_some()
    }

    pub(super) fn turn(&self) -> Turn {
        match self.hits {
            _ if self.negative => Turn::Refund,
            Some(0) => Turn::Peek,
            _ => Turn::Charge,
        }
    }
}

impl AskedLimit {
    fn as_override(self) -> Option<Override> {
        let per = Duration::from_secs(self.unit.seconds()?);
        Some(Override { amount: self.amount.into(), per })
    }
}
