//! Our table alone: what a plan of four limits costs beside four charges, and what it takes in memory and in waiting to grow
//! from nothing to a hundred million keys.

mod plans;
mod ways;
mod growth;
mod delays;

use anyhow::Result;

pub(crate) use self::growth::serve as grow;
pub(crate) use self::plans::serve;
pub(crate) use self::ways::Way;
use crate::bounds::Found;

/// How long and how wide to measure.
pub(crate) struct Plan {
    pub(crate) rounds: u32,
    /// Keys per limit of the plans: some that caches hold, and some that they do not.
    keys: [u32; 2],
    counts_instructions: bool,
    /// The sizes at which the growing table is looked at, in their order.
    sizes: Vec<u32>,
}

/// In hundred thousands: where a table that doubles would be full, just doubled, and in between.
const SIZES: [u32; 8] = [100, 140, 200, 280, 400, 560, 800, 1000];

impl Plan {
    pub(crate) fn full() -> Self {
        let sizes = SIZES.map(|size| size * 100_000).to_vec();
        Self { rounds: 15, keys: [plans::CACHED_KEYS, plans::MANY_KEYS], counts_instructions: true, sizes }
    }

    pub(crate) fn quick() -> Self {
        let sizes = SIZES.map(|size| size * 1_000).to_vec();
        Self { rounds: 3, keys: [1_000, 20_000], counts_instructions: false, sizes }
    }
}

pub(crate) fn report(plan: &Plan, found: &mut Found) -> Result<()> {
    plans::report(plan, found)?;
    growth::report(&plan.sizes, found)
}
