//! Whether to go on asking somebody who fails: a circuit that opens, rests, and lets one call try.
//!
//! Like everything here it has no clock: whoever asks says when. One call is one [`Pass`], taken before and given back after.

#[cfg(test)]
mod tests;

use crate::Timestamp;

/// Parts of a window that are counted apart, so that it slides.
const PARTS: usize = 10;

/// When a circuit opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// So many time-outs one after another open it.
    pub timeouts: u32,
    /// At least so many calls in a window, half of which failed, open it.
    pub calls: u32,
    /// The length of that window; it slides by tenths.
    pub window_us: u64,
    /// How long it stays open before one call may try.
    pub cooldown_us: u64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { timeouts: 5, calls: 20, window_us: 1_000_000, cooldown_us: 500_000 }
    }
}

/// What a circuit does with calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Circuit {
    /// It lets calls pass.
    Closed,
    /// It refuses them.
    Open,
    /// One call is out to try; others are refused.
    HalfOpen,
}

impl Circuit {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Closed, Self::Open, Self::HalfOpen];

    /// Its name in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an answer.
    Answered,
    /// Without an answer in time.
    TimedOut,
    /// In another way without an answer.
    Failed,
    /// In a way that says nothing: whoever asked has gone.
    Unknown,
}

/// One call that may go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a pass that is not given back may be the only one that was out to try"]
pub struct Pass {
    era: u64,
}

/// A circuit and what it remembers.
///
/// ```
/// use tidegate_core::breaker::{Breaker, Circuit, Ending, Tolerance};
/// use tidegate_core::Timestamp;
///
/// let mut breaker = Breaker::new(Tolerance::default());
/// let start = Timestamp::from_micros(0);
/// for _ in 0..5 {
///     let pass = breaker.admit(start).expect("it is closed");
///     breaker.end(pass, Ending::TimedOut, start);
/// }
/// assert_eq!(breaker.circuit(), Circuit::Open);
/// assert!(breaker.admit(start).is_none());
///
/// let later = start.plus_us(500_000);
/// let probe = breaker.admit(later).expect("one may try");
/// assert!(breaker.admit(later).is_none());
/// breaker.end(probe, Ending::Answered, later);
/// assert_eq!(breaker.circuit(), Circuit::Closed);
/// ```
#[derive(Clone, Debug)]
pub struct Breaker {
    tolerance: Tolerance,
    state: State,
    /// Grows with every change of state, so that a call of an earlier one is not taken for one of this.
    era: u64,
    timeouts: u32,
    window: Window,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed,
    Open { until: Timestamp },
    HalfOpen,
}

impl Breaker {
    /// A closed circuit.
    pub fn new(tolerance: Tolerance) -> Self {
        Self { tolerance, state: State::Closed, era: 0, timeouts: 0, window: Window::default() }
    }

    /// What it does with calls now.
    pub const fn circuit(&self) -> Circuit {
        match self.state {
            State::Closed => Circuit::Closed,
            State::Open { .. } => Circuit::Open,
            State::HalfOpen => Circuit::HalfOpen,
        }
    }

    /// A pass for one call, if it may go out. Of an open circuit that has rested, the first who asks gets the only one.
    pub fn admit(&mut self, now: Timestamp) -> Option<Pass> {
        match self.state {
            State::Closed => {}
            State::Open { until } if until <= now => self.turn(State::HalfOpen),
            State::Open { .. } | State::HalfOpen => return None,
        }
        Some(Pass { era: self.era })
    }

    /// Takes a pass back and learns from it.
    pub fn end(&mut self, pass: Pass, ending: Ending, now: Timestamp) {
        if pass.era != self.era {
            return;
        }
        match self.state {
            State::Closed => self.count(ending, now),
            State::HalfOpen => self.tried(ending, now),
            State::Open { .. } => {}
        }
    }

    /// Somebody has found another way that it may work again: one call may try at once.
    pub fn hope(&mut self, now: Timestamp) {
        if let State::Open { until } = &mut self.state {
            *until = now.min(*until);
        }
    }

    fn count(&mut self, ending: Ending, now: Timestamp) {
        if ending == Ending::Unknown {
            return;
        }
        self.timeouts = if ending == Ending::TimedOut { self.timeouts.saturating_add(1) } else { 0 };
        let part = now.as_micros() / (self.tolerance.window_us / PARTS as u64).max(1);
        let (calls, failed) = self.window.add(part, ending != Ending::Answered);
        let half = calls >= self.tolerance.calls && failed >= calls.div_ceil(2);
        if half || self.timeouts >= self.tolerance.timeouts {
            self.open(now);
        }
    }

    fn tried(&mut self, ending: Ending, now: Timestamp) {
        match ending {
            Ending::Answered => self.turn(State::Closed),
            Ending::TimedOut | Ending::Failed => self.open(now),
            Ending::Unknown => self.turn(State::Open { until: now }),
        }
    }

    fn open(&mut self, now: Timestamp) {
        self.turn(State::Open { until: now.plus_us(self.tolerance.cooldown_us) });
    }

    fn turn(&mut self, state: State) {
        self.state = state;
        self.era += 1;
        self.timeouts = 0;
        self.window = Window::default();
    }
}

/// Calls of the last parts, and how many of them failed.
#[derive(Clone, Debug, Default)]
struct Window {
    newest: u64,
    parts: [(u32, u32); PARTS],
}

impl Window {
    /// Adds a call to a part (to the newest, if time went back) and gives the sums.
    fn add(&mut self, part: u64, failed: bool) -> (u32, u32) {
        let gone = part.saturating_sub(self.newest).min(PARTS as u64);
        self.newest = self.newest.max(part);
        for back in 0..gone {
            *self.part(self.newest - back) = (0, 0);
        }
        let here = self.part(self.newest);
        *here = (here.0.saturating_add(1), here.1.saturating_add(u32::from(failed)));
        self.parts
            .iter()
            .fold((0, 0), |sum, part| (sum.0.saturating_add(part.0), sum.1.saturating_add(part.1)))
    }

    fn part(&mut self, part: u64) -> &mut (u32, u32) {
        let index = usize::try_from(part % PARTS as u64).expect("a remainder by ten is small");
        &mut self.parts[index]
    }
}
