//! A small seeded generator whose numbers are the same on every machine.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of that seed.
    pub const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Any 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A waiting time with that mean, exponentially distributed; at least 1 µs.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "traffic may be approximate; decisions may not"
    )]
    pub fn wait_us(&mut self, mean_us: f64) -> u64 {
        // 53 random bits, never 0.
        let uniform = ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        ((-ln(uniform) * mean_us) as u64).max(1)
    }
}

/// The natural logarithm of a number in (0, 1] from basic operations alone: a library's may differ in the last digit from
/// machine to machine, and a table in the docs should not.
fn ln(mut x: f64) -> f64 {
    let mut halvings = 0.0;
    while x < 0.5 {
        x *= 2.0;
        halvings += 1.0;
    }
    // ln x = 2·artanh z with z = (x-1)/(x+1), |z| ≤ 1/3
    let z = (x - 1.0) / (x + 1.0);
    let (mut power, mut sum, mut odd) = (z, 0.0, 1.0);
    while odd < 40.0 {
        sum += power / odd;
        power *= z * z;
        odd += 2.0;
    }
    2.0 * sum - halvings * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_one() {
        for x in [1.0, 0.999, 0.5, 0.25, 0.1, 1e-9, 1.1e-16] {
            assert!((ln(x) - f64::ln(x)).abs() < 1e-13, "{x}");
        }
    }

    #[test]
    fn waits_have_their_mean() {
        let mut random = Random::seeded(1);
        let total: u64 = (0..100_000).map(|_| random.wait_us(1_000.0)).sum();
        assert!((99_000_000..101_000_000).contains(&total), "{total}");
    }
}
