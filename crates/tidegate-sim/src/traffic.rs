//! Made-up traffic near the limit: the same number of requests on average, in three temperaments.

use crate::random::Random;

/// How requests come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Independently of each other.
    Poisson,
    /// In clumps of a fifth of the limit on average, each within a second.
    Bursts,
    /// Three times as fast as the limit for half a window on average, then a whole window's silence.
    OnOff,
}

impl Traffic {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Poisson, Self::Bursts, Self::OnOff];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poisson => "Poisson",
            Self::Bursts => "bursts",
            Self::OnOff => "on-off",
        }
    }

    /// The instants of the requests, `amount` per window on average, for so many windows, in µs from 0.
    pub fn requests(self, load: Load, seed: u64) -> Vec<u64> {
        let mut random = Random::seeded(seed);
        let mut instants = match self {
            Self::Poisson => poisson(load, &mut random),
            Self::Bursts => bursts(load, &mut random),
            Self::OnOff => on_off(load, &mut random),
        };
        instants.sort_unstable();
        instants
    }
}

/// How much traffic there is.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Requests per window on average.
    pub amount: u32,
    /// The window's length.
    pub window_us: u32,
    /// How many windows.
    pub windows: u32,
}

impl Load {
    fn gap_us(self) -> f64 {
        f64::from(self.window_us) / f64::from(self.amount)
    }

    fn end_us(self) -> u64 {
        u64::from(self.window_us) * u64::from(self.windows)
    }
}

fn poisson(load: Load, random: &mut Random) -> Vec<u64> {
    let mut instants = Vec::new();
    let mut now_us = random.wait_us(load.gap_us());
    while now_us < load.end_us() {
        instants.push(now_us);
        now_us += random.wait_us(load.gap_us());
    }
    instants
}

fn bursts(load: Load, random: &mut Random) -> Vec<u64> {
    let mean = (load.amount / 5).max(1);
    let mut instants = Vec::new();
    let mut now_us = random.wait_us(load.gap_us() * f64::from(mean));
    while now_us < load.end_us() {
        // 1 to 2·mean - 1 requests, each as likely
        let size = 1 + random.next() % u64::from(2 * mean - 1);
        instants.extend((0..size).map(|_| now_us + random.next() % 1_000_000));
        now_us += random.wait_us(load.gap_us() * f64::from(mean));
    }
    instants
}

fn on_off(load: Load, random: &mut Random) -> Vec<u64> {
    let mut instants = Vec::new();
    let mut now_us = 0;
    while now_us < load.end_us() {
        let until_us = now_us + random.wait_us(f64::from(load.window_us) / 2.0);
        while now_us < until_us.min(load.end_us()) {
            instants.push(now_us);
            now_us += random.wait_us(load.gap_us() / 3.0);
        }
        now_us += random.wait_us(f64::from(load.window_us));
    }
    instants
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_brings_about_the_limit() {
        let load = Load { amount: 100, window_us: 60_000_000, windows: 2_000 };
        for traffic in Traffic::ALL {
            let count = traffic.requests(load, 7).len();
            assert!((180_000..220_000).contains(&count), "{} brings {count}", traffic.name());
        }
    }

    #[test]
    fn a_seed_is_a_history() {
        let load = Load { amount: 10, window_us: 1_000_000, windows: 10 };
        assert_eq!(Traffic::Bursts.requests(load, 3), Traffic::Bursts.requests(load, 3));
        assert_ne!(Traffic::Bursts.requests(load, 3), Traffic::Bursts.requests(load, 4));
    }
}
