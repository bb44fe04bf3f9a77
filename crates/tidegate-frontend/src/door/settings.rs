//! How a door is set up.

use tidegate_wire::headers;
use tidegate_wire::trust::Trust;

use super::PartitionSecret;

/// How a door is set up: what it tells, and how much it takes at once.
#[derive(Clone, Debug)]
pub struct DoorSettings {
    /// Which headers are written.
    pub headers: headers::Settings,
    /// The most checks under way at once, where the store makes callers wait; beyond, they are answered by class without being
    /// asked.
    pub most_in_flight: usize,
    /// What partition keys (`pk`) are hashed with. Without it, or unless the headers ask for them, none are told.
    pub pk_secret: Option<PartitionSecret>,
    /// The largest body or message.
    pub max_body_bytes: usize,
    /// The most bytes of bodies that are held at once; it is never less than one of the largest. Heads and answers have half as many beside it.
    pub max_bodies_bytes: usize,
    /// The most checks of one batch.
    pub max_batch: usize,
    /// What Envoy is answered if nobody could decide and the class of the rules refuses.
    pub undecided: Undecided,
    /// Whether answers name rules and limits in shadow mode. Off by default: proxies and services pass
    /// answers on to their clients.
    pub tell_shadow: bool,
    /// Whether the dynamic metadata for Envoy repeats the descriptors of the request. Off by default: their
    /// values may be secrets, and Envoy writes metadata into access logs.
    pub metadata_descriptors: bool,
    /// Whose word counts for which attribute. Callers are gateways that know their clients, so everybody's does by default.
    pub trust: Trust,
    /// The same for forward-auth, which asks with what clients sent: by default nobody's does.
    pub forward_trust: Trust,
}

/// What Envoy is answered if nobody could decide and the class of the rules refuses. It has no way to make Envoy say 503
/// by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Undecided {
    /// The gRPC status UNAVAILABLE: Envoy answers its `status_on_error` if its `failure_mode_deny` is set, and lets the
    /// request pass if it is not.
    Unavailable,
    /// The code OVER_LIMIT with our problem in the body: Envoy refuses whatever its failure mode, with its
    /// `rate_limited_status`, which is 429 unless it is set. The default: what safety refuses must not pass because Envoy
    /// fails open.
    #[default]
    OverLimit,
}

impl Default for DoorSettings {
    fn default() -> Self {
        Self {
            headers: headers::Settings::default(),
            most_in_flight: 10_000,
            pk_secret: None,
            max_body_bytes: 1 << 20,
            max_bodies_bytes: 64 << 20,
            max_batch: 100,
            undecided: Undecided::default(),
            tell_shadow: false,
            metadata_descriptors: false,
            trust: Trust::everybody(),
            forward_trust: Trust::only_forwarded(Vec::new(), ["org", "plan"]),
        }
    }
}
