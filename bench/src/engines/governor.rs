//! governor's keyed limiter as it comes: `DashMap` with the standard hasher, quanta's clock. Several limits are as many
//! limiters asked in turn, which is not atomic.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::{Context, Result};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::{Engine, Setup, per_limit};

pub(crate) struct Governor<K: Clone + Eq + Hash, const LIMITS: usize>([DefaultKeyedRateLimiter<K>; LIMITS]);

impl<K: Clone + Eq + Hash + Send + Sync, const LIMITS: usize> Engine<K> for Governor<K, LIMITS> {
    fn new(setup: Setup) -> Result<Self> {
        let burst = NonZeroU32::new(setup.burst).context("a burst of 0 admits nothing")?;
        let quota = Quota::with_period(Duration::from_secs(setup.every_s.into())).context("a period of 0")?;
        Ok(Self(per_limit(|_| Ok(RateLimiter::keyed(quota.allow_burst(burst))))?))
    }

    #[inline]
    fn decide(&self, key: &K) -> bool {
        self.0.iter().fold(true, |all, limiter| all & limiter.check_key(key).is_ok())
    }

    fn held(&self) -> Option<usize> {
        Some(self.0.iter().map(RateLimiter::len).sum())
    }
}
