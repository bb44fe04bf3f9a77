//! Ours: the library on the system's clock. One limit is asked for its bare verdict, as the peers are; several are one atomic
//! `check_all`.

use std::time::Duration;

use anyhow::Result;
use tidegate::{Limit, Limiter, Rate, Rule, SystemClock};

use super::{Engine, Setup, per_limit};
use crate::keys::Key;

/// Far above what any case needs: nothing may be dropped to keep a cap.
pub(crate) const CAP_BYTES: usize = 16 << 30;

pub(crate) struct Tidegate<const LIMITS: usize> {
    limiter: Limiter,
    rules: [Rule; LIMITS],
}

impl<K: Key, const LIMITS: usize> Engine<K> for Tidegate<LIMITS> {
    fn new(setup: Setup) -> Result<Self> {
        let rate = Rate::new(1, Duration::from_secs(setup.every_s.into()))?;
        let limit = Limit::gcra(rate, setup.burst.into())?;
        let rules = per_limit(|index| Ok(Rule::new(&format!("limit-{index}"), limit)?))?;
        Ok(Self { limiter: Limiter::with_clock_and_cap(SystemClock::new(), CAP_BYTES), rules })
    }

    #[inline]
    fn decide(&self, key: &K) -> bool {
        let key = key.bytes();
        if LIMITS == 1 {
            self.limiter.verdict(&self.rules[0], &key).is_ok_and(|verdict| verdict.allowed())
        } else {
            let asks = self.rules.each_ref().map(|rule| rule.on(&key));
            self.limiter.check_all(&asks).is_ok_and(|decision| decision.allowed())
        }
    }

    fn held(&self) -> Option<usize> {
        Some(self.limiter.usage().counters)
    }
}
