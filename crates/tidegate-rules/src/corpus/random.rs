//! Numbers from a seed: SplitMix64 (Steele, Lea and Flood, 2014), which is small and the same everywhere.

pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`; the smallest ones are more likely by less than one in 2^40 for the bounds used here.
    pub(super) const fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    pub(super) fn pick<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        let place = self.below(list.len() as u64);
        &list[usize::try_from(place).unwrap_or_default()]
    }
}
