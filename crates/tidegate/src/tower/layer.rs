//! Which rules a service's requests meet.

use std::sync::Arc;

use tidegate_wire::headers::Settings;
use tower_layer::Layer;

use crate::clock::{Clock, SystemClock};
use crate::limiter::Limiter;
use crate::rule::{Ask, Rule};
use crate::tower::key::{self, Head, KeyBytes, KeyOf};
use crate::tower::service::RateLimit;

/// Puts a limiter in front of a service. Services made by clones of one layer share their counters.
pub struct RateLimitLayer<C = SystemClock> {
    shared: Arc<Shared<C>>,
}

pub(super) struct Shared<C> {
    pub(super) limiter: Limiter<C>,
    pub(super) rules: Vec<Applied>,
    pub(super) settings: Settings,
}

/// A rule, and how it applies to requests.
#[derive(Clone)]
pub struct Applied {
    rule: Arc<Rule>,
    key: Arc<dyn KeyOf>,
    cost: Option<Cost>,
    missing: Missing,
    pub(super) refuses: Refuses,
}

type Cost = Arc<dyn Fn(&Head<'_>) -> u64 + Send + Sync>;

/// A rule that applies to a request, with the request's key and cost.
pub(super) struct Met<'a> {
    pub(super) applied: &'a Applied,
    key: KeyBytes,
    cost: u64,
}

impl Met<'_> {
    pub(super) fn ask(&self) -> Ask<'_, '_> {
        self.applied.rule.on(self.key.as_slice()).cost(self.cost)
    }
}

/// What to do with a request that does not have the rule's key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Share,
    Skip,
}

/// How a refusal by the rule is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Refuses {
    TooMany,
    Overload,
}

impl Applied {
    /// The rule counts requests by that key. Requests without it share one counter: leaving the header away is no way out.
    pub fn new(rule: Rule, key: impl KeyOf) -> Self {
        Self {
            rule: Arc::new(rule),
            key: Arc::new(key),
            cost: None,
            missing: Missing::Share,
            refuses: Refuses::TooMany,
        }
    }

    /// The rule does not apply to requests without its key.
    #[must_use]
    pub fn if_present(mut self) -> Self {
        self.missing = Missing::Skip;
        self
    }

    /// What a request costs under this rule; 1 if not set.
    #[must_use]
    pub fn cost(mut self, cost: impl Fn(&Head<'_>) -> u64 + Send + Sync + 'static) -> Self {
        self.cost = Some(Arc::new(cost));
        self
    }

    /// The rule protects the service rather than a client's share of it: it refuses with 503, and clients are not told
    /// how much is left of it.
    #[must_use]
    pub fn shedding(mut self) -> Self {
        self.refuses = Refuses::Overload;
        self
    }

    /// The rule with the request's key; `None` if it does not apply.
    pub(super) fn meet(&self, head: &Head<'_>) -> Option<Met<'_>> {
        let mut key = KeyBytes::new();
        if self.key.key(head, &mut key) {
            // What is present never looks like what is missing.
            key.push(b'=');
        } else if self.missing == Missing::Skip {
            return None;
        } else {
            key.clear();
        }
        Some(Met { applied: self, key, cost: self.cost.as_ref().map_or(1, |cost| cost(head)) })
    }
}

impl<C: Clock> RateLimitLayer<C> {
    /// Decides with that limiter; without rules everything passes.
    pub fn new(limiter: Limiter<C>) -> Self {
        Self { shared: Arc::new(Shared { limiter, rules: Vec::new(), settings: Settings::default() }) }
    }

    /// Adds a rule that counts requests by that key.
    #[must_use]
    pub fn rule(self, rule: Rule, key: impl KeyOf) -> Self {
        self.apply(Applied::new(rule, key))
    }

    /// Adds a rule that protects the service as a whole and answers 503.
    #[must_use]
    pub fn shed(self, rule: Rule) -> Self {
        self.apply(Applied::new(rule, key::everyone()).shedding())
    }

    /// Adds a rule with everything that can be said of it. At most [`tidegate_core::MAX_CHARGES`] fit; with more, every
    /// request is answered 500.
    #[must_use]
    pub fn apply(self, applied: Applied) -> Self {
        self.change(|shared| shared.rules.push(applied))
    }

    /// Which headers clients get.
    #[must_use]
    pub fn headers(self, settings: Settings) -> Self {
        self.change(|shared| shared.settings = settings)
    }

    fn change(self, change: impl FnOnce(&mut Shared<C>)) -> Self {
        let Shared { limiter, rules, settings } = &*self.shared;
        let mut shared = Shared { limiter: limiter.clone(), rules: rules.clone(), settings: *settings };
        change(&mut shared);
        Self { shared: Arc::new(shared) }
    }
}

impl<C> Clone for RateLimitLayer<C> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<C> std::fmt::Debug for RateLimitLayer<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rules = self.shared.rules.iter().map(|applied| applied.rule.name());
        f.debug_list().entries(rules).finish()
    }
}

impl<S, C: Clock> Layer<S> for RateLimitLayer<C> {
    type Service = RateLimit<S, C>;

    fn layer(&self, inner: S) -> Self::Service {
        RateLimit::new(inner, Arc::clone(&self.shared))
    }
}
