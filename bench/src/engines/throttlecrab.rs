//! throttlecrab's limiter over its `PeriodicStore`, as its README shows. It takes `&mut self`, so threads share it behind a
//! mutex. Several limits are as many limiters asked in turn, which is not atomic.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::Result;
use throttlecrab::{PeriodicStore, RateLimiter};

use super::{Engine, Setup, per_limit};

pub(crate) struct Throttlecrab<const LIMITS: usize> {
    limiters: [Mutex<RateLimiter<PeriodicStore>>; LIMITS],
    setup: Setup,
}

impl<const LIMITS: usize> Engine<String> for Throttlecrab<LIMITS> {
    fn new(setup: Setup) -> Result<Self> {
        let limiters = per_limit(|_| Ok(Mutex::new(RateLimiter::new(PeriodicStore::new()))))?;
        Ok(Self { limiters, setup })
    }

    #[inline]
    fn decide(&self, key: &String) -> bool {
        let (burst, every_s) = (i64::from(self.setup.burst), i64::from(self.setup.every_s));
        self.limiters.iter().fold(true, |all, limiter| {
            let mut limiter = limiter.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = limiter.rate_limit(key, burst, 1, every_s, 1, SystemTime::now());
            all & answer.is_ok_and(|(allowed, _)| allowed)
        })
    }
}
