//! How long to wait before the next try: longer each time, up to a bound, and never the same for two who began together.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);

/// Waits of one who tries again and again.
pub(crate) struct Backoff {
    ceiling: Duration,
    chance: RandomState,
    tries: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { ceiling: FIRST, chance: RandomState::new(), tries: 0 }
    }
}

impl Backoff {
    /// The next wait: between half of the ceiling and all of it. The ceiling doubles.
    pub(crate) fn next(&mut self) -> Duration {
        let ceiling = self.ceiling;
        self.ceiling = (2 * ceiling).min(LONGEST);
        self.tries += 1;
        let part = u32::try_from(self.chance.hash_one(self.tries) % 1000).expect("less than a thousand");
        ceiling / 2 + ceiling / 2 * part / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, FIRST, LONGEST};

    #[test]
    fn waits_grow_to_a_bound() {
        let mut backoff = Backoff::default();
        let first = backoff.next();
        assert!((FIRST / 2..=FIRST).contains(&first));
        let last = (0..20).map(|_| backoff.next()).last().unwrap();
        assert!((LONGEST / 2..=LONGEST).contains(&last));
    }
}
