//! How the engine is asked about a request of Envoy's.

use std::time::Duration;

use smallvec::SmallVec;
use tidegate_engine::{Charging, Check, Descriptor, Override};
use tidegate_wire::envoy::{HitsMode, LimitOverride, RateLimitRequest, RequestDescriptor, TimeUnit};

use super::Failure;
use crate::door::Patience;

/// A request, and how long its caller waits. It has no `Debug`: values may be secret.
#[derive(Default)]
pub(crate) struct EnvoyQuestion<'r> {
    pub(crate) request: RateLimitRequest<'r>,
    pub(crate) patience: Patience,
}

impl EnvoyQuestion<'_> {
    pub(super) fn validate(&self) -> Result<(), Failure> {
        let RateLimitRequest { domain, descriptors, .. } = &self.request;
        let unknown =
            |sent: &RequestDescriptor<'_>| sent.limit.is_some_and(|limit| limit.unit == TimeUnit::Unknown);
        let wrong = if domain.is_empty() {
            "rate limit domain must not be empty"
        } else if descriptors.is_empty() {
            "rate limit descriptor list must not be empty"
        } else if descriptors.iter().any(unknown) {
            "the limit of a descriptor has no known unit; use SECOND, MINUTE, HOUR, DAY, MONTH or YEAR"
        } else {
            // The domain is configured and never sent by a client: a wrong one should be noticed.
            let domain = Check::new(domain).validate();
            return domain.map_err(|malformed| Failure::Malformed(malformed.to_string()));
        };
        Err(Failure::Malformed(wrong.to_owned()))
    }

    /// The descriptors at the costs of one round.
    pub(super) fn descriptors(
        &self,
        cost: impl Fn(&RequestDescriptor<'_>) -> u64,
    ) -> SmallVec<[Descriptor<'_>; 4]> {
        self.request.descriptors.iter().map(|sent| descriptor(sent, cost(sent))).collect()
    }

    pub(super) fn check<'c>(&'c self, descriptors: &'c [Descriptor<'c>]) -> Check<'c> {
        Check { descriptors, ..Check::new(self.request.domain) }
    }

    /// The same for a caller who has so much time left.
    pub(super) fn check_within<'c>(
        &'c self,
        descriptors: &'c [Descriptor<'c>],
        patience: Option<Duration>,
    ) -> Check<'c> {
        Check { patience, ..self.check(descriptors) }
    }
}

fn descriptor<'r>(sent: &'r RequestDescriptor<'_>, cost: u64) -> Descriptor<'r> {
    let limit = sent.limit.and_then(as_override);
    Descriptor { limit, cost: Some(cost), charging: charging(sent), ..Descriptor::new(&sent.entries) }
}

/// A descriptor with a cost of its own is charged even if it is refused, as envoyproxy/ratelimit charges it: Envoy does not
/// say that it sends it at the end of a stream.
fn charging(sent: &RequestDescriptor<'_>) -> Charging {
    match sent.hits_mode() {
        HitsMode::Peek => Charging::Peek,
        HitsMode::Charge if sent.is_late() => Charging::Late,
        HitsMode::Charge | HitsMode::Refund => Charging::IfAdmitted,
    }
}

fn as_override(limit: LimitOverride) -> Option<Override> {
    Some(Override { amount: limit.amount.into(), per: Duration::from_secs(limit.unit.seconds()?) })
}
