//! Time as a number that is passed in: microseconds since the Unix epoch.

/// How far the clock may step back before a state counts as written by a wrong clock: one second.
///
/// Up to here time stands still at the state's own stamp. Beyond, the state is void, so that a clock which ran
/// ahead and was corrected cannot block a key until it catches up; the price is at most one more burst (or one
/// more window's amount) per key and step.
pub const STANDSTILL_US: u64 = 1_000_000;

/// An instant, in microseconds since the Unix epoch.
///
/// ```
/// use tidegate_core::Timestamp;
/// let now = Timestamp::from_micros(1_700_000_000_000_000);
/// assert_eq!(now.plus_us(5).since(now), 5);
/// assert_eq!(now.since(now.plus_us(5)), 0); // never negative
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The epoch itself.
    pub const ZERO: Self = Self(0);
    /// Later than every instant that a clock shows.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `micros` after the epoch.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// This instant moved ahead, stopping at [`Timestamp::MAX`].
    #[must_use]
    pub const fn plus_us(self, span_us: u64) -> Self {
        Self(self.0.saturating_add(span_us))
    }

    /// This instant moved back, stopping at the epoch.
    #[must_use]
    pub const fn minus_us(self, span_us: u64) -> Self {
        Self(self.0.saturating_sub(span_us))
    }

    /// Microseconds from `earlier` to this instant; 0 if `earlier` is later.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Whether a state stamped `self` was written by a clock that has since been set back too far to wait for.
    pub const fn is_void_at(self, now: Self) -> bool {
        self.0 > now.0.saturating_add(STANDSTILL_US)
    }
}
