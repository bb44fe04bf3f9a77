//! The keys and the order in which they are asked for: the same for every engine, from a seed.

use anyhow::{Result, ensure};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Zipf};

use crate::words::words;

words! {
    /// What a key is made of.
    Kind {
        Text = "string",
        Number = "u64",
    }
}

words! {
    /// Which keys are asked for how often.
    Access {
        Uniform = "uniform",
        /// The k-th most popular key has 1/k of the requests of the first.
        Zipf = "zipf",
    }
}

/// A key that is rewritten for each request. What that costs is part of every engine's figure, and has a row of its own.
pub(crate) trait Key {
    fn fresh() -> Self;
    fn set(&mut self, index: u32);
    fn bytes(&self) -> impl AsRef<[u8]>;
}

impl Key for u64 {
    fn fresh() -> Self {
        0
    }

    #[inline]
    fn set(&mut self, index: u32) {
        *self = u64::from(index);
    }

    #[inline]
    fn bytes(&self) -> impl AsRef<[u8]> {
        self.to_be_bytes()
    }
}

/// `user:00012345`.
impl Key for String {
    fn fresh() -> Self {
        Self::with_capacity(16)
    }

    #[inline]
    fn set(&mut self, index: u32) {
        self.clear();
        self.push_str("user:");
        for pair in [index / 1_000_000, index / 10_000, index / 100, index] {
            let at = (pair % 100) as usize * 2;
            self.push_str(&PAIRS[at..at + 2]);
        }
    }

    #[inline]
    fn bytes(&self) -> impl AsRef<[u8]> {
        self.as_bytes()
    }
}

const PAIRS: &str = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
                     5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/// So many requests over the keys below `keys`.
pub(crate) fn sequence(access: Access, keys: u32, ops: u32, seed: u64) -> Result<Vec<u32>> {
    ensure!(keys > 0, "a case needs at least one key");
    let mut random = SmallRng::seed_from_u64(seed);
    Ok(match access {
        Access::Uniform => (0..ops).map(|_| random.random_range(0..keys)).collect(),
        Access::Zipf => {
            let ranks = Zipf::new(f64::from(keys), 1.0)?;
            (0..ops).map(|_| scattered(rank(ranks.sample(&mut random)), keys)).collect()
        }
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank is from 1 to the number of keys"
)]
fn rank(sample: f64) -> u32 {
    sample as u32 - 1
}

/// Spreads neighbouring ranks over all keys: keys are loaded in order, and what is popular should not lie together for
/// having been loaded together. A permutation, since the factor is a prime above any number of keys.
fn scattered(rank: u32, keys: u32) -> u32 {
    let spread = u64::from(rank) * 2_654_435_761 % u64::from(keys);
    u32::try_from(spread).unwrap_or_default()
}
