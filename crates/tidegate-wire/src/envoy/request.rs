//! A request as it was sent.

use std::fmt;

use smallvec::SmallVec;

use super::TimeUnit;
use crate::trust::{Caller, Trust};

/// A rate limit request, in the words that it was sent in.
#[derive(Default, PartialEq)]
pub struct RateLimitRequest<'r> {
    /// The domain whose rules apply.
    pub domain: &'r str,
    /// The descriptors, in order.
    pub descriptors: SmallVec<[RequestDescriptor<'r>; 4]>,
    /// The cost of descriptors that have none of their own; 0 is 1.
    pub hits: u64,
}

/// A descriptor of a request.
#[derive(Default, PartialEq)]
pub struct RequestDescriptor<'r> {
    /// Keys and values, in order.
    pub entries: SmallVec<[(&'r str, &'r str); 2]>,
    /// A limit in place of the one that the rules have.
    pub limit: Option<LimitOverride>,
    /// Its own cost.
    pub hits: Option<u64>,
    /// Whether the cost is given back.
    pub negative: bool,
}

/// A limit that comes with a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitOverride {
    /// Requests per unit.
    pub amount: u32,
    /// The unit of time.
    pub unit: TimeUnit,
}

/// What happens to the cost of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitsMode {
    /// It is charged.
    Charge,
    /// It is 0: the descriptor only asks.
    Peek,
    /// It is given back.
    Refund,
}

impl RateLimitRequest<'_> {
    /// Leaves out entries that the caller is not trusted to state. The descriptors stay, so that each has its status.
    pub fn keep_trusted(&mut self, trust: &Trust, caller: Caller) {
        if !caller.is_trusted() {
            let counts = |(attribute, _): &mut (&str, &str)| !trust.ignores(caller, attribute);
            self.descriptors.iter_mut().for_each(|descriptor| descriptor.entries.retain(counts));
        }
    }

    /// Whether a descriptor has that mode.
    pub fn any(&self, mode: HitsMode) -> bool {
        self.descriptors.iter().any(|descriptor| descriptor.hits_mode() == mode)
    }

    /// Whether all descriptors have that mode.
    pub fn all(&self, mode: HitsMode) -> bool {
        self.descriptors.iter().all(|descriptor| descriptor.hits_mode() == mode)
    }

    /// What a descriptor costs: its own cost, even of 0, or the request's, which is 1 if it is 0.
    pub fn hits_of(&self, descriptor: &RequestDescriptor<'_>) -> u64 {
        descriptor.hits.unwrap_or(self.hits.max(1))
    }
}

impl RequestDescriptor<'_> {
    /// What happens to its cost.
    pub fn hits_mode(&self) -> HitsMode {
        match self.hits {
            _ if self.negative => HitsMode::Refund,
            Some(0) => HitsMode::Peek,
            _ => HitsMode::Charge,
        }
    }

    /// Whether it brings a cost of its own that is charged in any case. Envoy sends such costs at the end of a stream, when
    /// they have arisen already.
    pub fn is_late(&self) -> bool {
        self.hits_mode() == HitsMode::Charge && self.hits.is_some()
    }
}

/// Values may be secret: only keys are shown.
impl fmt::Debug for RateLimitRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitRequest")
            .field("domain", &self.domain)
            .field("descriptors", &self.descriptors)
            .field("hits", &self.hits)
            .finish()
    }
}

impl fmt::Debug for RequestDescriptor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: SmallVec<[&str; 2]> = self.entries.iter().map(|(key, _)| *key).collect();
        f.debug_struct("RequestDescriptor")
            .field("keys", &keys)
            .field("limit", &self.limit)
            .field("hits", &self.hits)
            .field("negative", &self.negative)
            .finish()
    }
}
