//! limitador's in-memory storage, blocking API. The key is a variable of the request's context, which each request has to
//! build; matching evaluates it as CEL. Several limits are one call, which reads all counters and then adds to them.

use std::collections::HashMap;

use anyhow::{Result, anyhow};
use limitador::RateLimiter;
use limitador::limit::{Context, Expression, Limit, Namespace};

use super::{Engine, Setup};

/// Its limits are fixed windows; one that outlasts the run.
const WINDOW_S: u64 = 86_400;

pub(crate) struct Limitador<const LIMITS: usize> {
    limiter: RateLimiter,
    namespace: Namespace,
}

impl<const LIMITS: usize> Engine<String> for Limitador<LIMITS> {
    fn new(setup: Setup) -> Result<Self> {
        // Its cache evicts above a number of counters; twice what is needed keeps that out of the picture.
        let limiter = RateLimiter::new(2 * u64::from(setup.keys) * LIMITS as u64 + 1_000);
        for index in 0..LIMITS as u64 {
            let user = Expression::parse("user").map_err(|error| anyhow!("limitador: {error}"))?;
            // Limits are told apart by their windows.
            limiter.add_limit(Limit::new("bench", setup.burst.into(), WINDOW_S + index, [], [user]));
        }
        Ok(Self { limiter, namespace: "bench".into() })
    }

    #[inline]
    fn decide(&self, key: &String) -> bool {
        let context = Context::from(HashMap::from([("user".to_owned(), key.clone())]));
        let answer = self.limiter.check_rate_limited_and_update(&self.namespace, &context, 1);
        answer.is_ok_and(|answer| !answer.limited && answer.counters.len() == LIMITS)
    }
}
