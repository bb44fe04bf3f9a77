//! What a counter is held to: an algorithm and its numbers, checked once, when they are written.

use std::time::Duration;

use crate::algorithm::concurrency::Concurrency;
use crate::algorithm::fixed_window::{FixedWindow, Window};
use crate::algorithm::meter::Meter;
use crate::algorithm::sliding_log::SlidingLog;
use crate::algorithm::sliding_window::SlidingWindow;
use crate::rate::Rate;
use crate::time::Timestamp;

/// The largest amount, burst or cost that means something: fifteen nines, the largest integer of an HTTP
/// structured field (RFC 9651) and far below 2^53.
pub const MAX_AMOUNT: u64 = 999_999_999_999_999;

/// The longest window, and the longest time in which a full bucket may drain: ten years.
pub const MAX_WINDOW: Duration = Duration::from_secs(3_660 * 86_400);

/// The most time stamps that an exact sliding log keeps for one key.
pub const MAX_STAMPS: u64 = 100_000;

/// The most parts of a sliding window.
pub const MAX_PARTS: u32 = 60;

/// An algorithm with its numbers. Whatever can be built can be decided: the constructors refuse the impossible.
///
/// ```
/// use std::time::Duration;
/// use tidegate_core::{Limit, Rate};
/// let day = Duration::from_secs(86_400);
/// let quota = Limit::sliding_window(1_000_000, day)?;
/// let api = Limit::gcra(Rate::new(7, Duration::from_secs(1))?, 20)?;
/// assert_eq!((quota.capacity(), api.capacity()), (1_000_000, 20));
///
/// let error = Limit::sliding_log(1_000_000, day).unwrap_err();
/// assert!(error.to_string().contains("sliding_log_with_precision"));
/// # Ok::<(), tidegate_core::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    algorithm: Algorithm,
    share: u32,
    pub(crate) kind: Kind,
}

/// The algorithms by the names that rules give them. Their numbers are part of stored keys and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// A rate with a burst, written as such.
    Gcra = 1,
    /// The same meter, written as a capacity and a refill rate.
    TokenBucket = 2,
    /// The same meter, written as a capacity and a leak rate; it can shape instead of refusing.
    LeakyBucket = 3,
    /// A count that starts anew with each window.
    FixedWindow = 4,
    /// A count weighted over the window that ends now.
    SlidingWindow = 5,
    /// The time stamps of the admissions in the window that ends now.
    SlidingLog = 6,
    /// How many are inside at once.
    Concurrency = 7,
}

/// The same by the arithmetic behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Meter(Meter),
    FixedWindow(FixedWindow),
    SlidingWindow(SlidingWindow),
    SlidingLog(SlidingLog),
    Concurrency(Concurrency),
}

/// A limit that cannot be; the message says what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// An amount of 0.
    #[error("an amount of 0 admits nothing; write at least 1, or block the request by a rule of its own")]
    ZeroAmount,
    /// An amount above [`MAX_AMOUNT`].
    #[error("an amount of {amount} is more than {MAX_AMOUNT}; count in larger units")]
    AmountTooLarge {
        /// What was asked for.
        amount: u64,
    },
    /// A window of no length.
    #[error("a window needs a length; write at least 1 microsecond")]
    ZeroWindow,
    /// A window with nanoseconds.
    #[error("a window of {nanos} ns is not a whole number of microseconds; write {} us", nanos / 1000 + 1)]
    FractionalWindow {
        /// What was asked for.
        nanos: u128,
    },
    /// A window, or the time in which a full bucket drains, beyond [`MAX_WINDOW`].
    #[error("it would take {} days until the limit is whole again and the most is {}; write a smaller burst or a \
             faster rate", span_us / 86_400_000_000, MAX_WINDOW.as_secs() / 86_400)]
    TooSlow {
        /// How long it would take.
        span_us: u64,
    },
    /// A number of parts that is not from 1 to [`MAX_PARTS`].
    #[error("a sliding window has 1 to {MAX_PARTS} parts, not {parts}")]
    Parts {
        /// What was asked for.
        parts: u32,
    },
    /// A window that does not divide into that many parts.
    #[error("a window of {window_us} us does not divide into {parts} parts; write {nearest} parts")]
    UnevenParts {
        /// The window's length.
        window_us: u64,
        /// What was asked for.
        parts: u32,
        /// The nearest number that divides it.
        nearest: u32,
    },
    /// An exact log longer than [`MAX_STAMPS`].
    #[error(
        "an exact log of {amount} keeps a time stamp for each and the most is {MAX_STAMPS}; write \
             sliding_log_with_precision (never over, early by less than amount / precision) or sliding_window"
    )]
    LogTooLong {
        /// What was asked for.
        amount: u64,
    },
    /// A precision that is not from 1 to [`MAX_STAMPS`].
    #[error("a precision is a number of time stamps from 1 to {MAX_STAMPS}, not {precision}")]
    Precision {
        /// What was asked for.
        precision: u64,
    },
    /// Calendar bounds out of order.
    #[error("a calendar window needs start < end < next end")]
    CalendarOrder,
}

/// The instant lies outside the calendar bounds that the limit was given: compute them again and repeat the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the instant lies outside the calendar window given with the limit; resolve its bounds again")]
pub struct Outside;

impl Limit {
    /// A rate with a burst: over any time T at most `burst + rate·T` pass, and whoever keeps to that is never refused.
    pub fn gcra(rate: Rate, burst: u64) -> Result<Self, LimitError> {
        Ok(Self { algorithm: Algorithm::Gcra, share: 0, kind: Kind::Meter(Meter::new(rate, burst)?) })
    }

    /// A bucket of `capacity` tokens that refills at a steady rate; the same promise as [`Limit::gcra`].
    pub fn token_bucket(capacity: u64, refill: Rate) -> Result<Self, LimitError> {
        Ok(Self {
            algorithm: Algorithm::TokenBucket,
            share: 0,
            kind: Kind::Meter(Meter::new(refill, capacity)?),
        })
    }

    /// A bucket that leaks at a steady rate and overflows at `capacity`; the same promise as [`Limit::gcra`].
    pub fn leaky_bucket(capacity: u64, leak: Rate) -> Result<Self, LimitError> {
        Ok(Self {
            algorithm: Algorithm::LeakyBucket,
            share: 0,
            kind: Kind::Meter(Meter::new(leak, capacity)?),
        })
    }

    /// A leaky bucket as a queue: what it admits is delayed so that it leaves at the leak rate, evenly; `queue` is
    /// how many units may be inside, the one that leaves at once included.
    pub fn leaky_bucket_shaping(queue: u64, leak: Rate) -> Result<Self, LimitError> {
        Ok(Self {
            algorithm: Algorithm::LeakyBucket,
            share: 0,
            kind: Kind::Meter(Meter::new(leak, queue)?.shaping()),
        })
    }

    /// At most `amount` in each window. Around a boundary up to twice that can pass within one window's length.
    pub fn fixed_window(amount: u64, window: Window) -> Result<Self, LimitError> {
        Ok(Self {
            algorithm: Algorithm::FixedWindow,
            share: 0,
            kind: Kind::FixedWindow(FixedWindow::new(amount, window)?),
        })
    }

    /// About `amount` in any window, from two weighted counts. The docs give its error beside other algorithms'.
    pub fn sliding_window(amount: u64, window: Duration) -> Result<Self, LimitError> {
        Self::sliding_window_in_parts(amount, window, 1)
    }

    /// The same with the window cut into `parts`: the error shrinks with the share of traffic that falls into one.
    pub fn sliding_window_in_parts(amount: u64, window: Duration, parts: u32) -> Result<Self, LimitError> {
        Ok(Self {
            algorithm: Algorithm::SlidingWindow,
            share: 0,
            kind: Kind::SlidingWindow(SlidingWindow::new(amount, window, parts)?),
        })
    }

    /// Exactly `amount` in any window, at the price of a time stamp per admission.
    pub fn sliding_log(amount: u64, window: Duration) -> Result<Self, LimitError> {
        Ok(Self {
            algorithm: Algorithm::SlidingLog,
            share: 0,
            kind: Kind::SlidingLog(SlidingLog::exact(amount, window)?),
        })
    }

    /// Never more than `amount` in any window, refusing early by less than `amount / precision`, with one time
    /// stamp per `⌈amount / precision⌉` admissions.
    pub fn sliding_log_with_precision(
        amount: u64,
        window: Duration,
        precision: u64,
    ) -> Result<Self, LimitError> {
        Ok(Self {
            algorithm: Algorithm::SlidingLog,
            share: 0,
            kind: Kind::SlidingLog(SlidingLog::with_precision(amount, window, precision)?),
        })
    }

    /// At most `slots` inside at once; a slot that is neither given back nor renewed ends after `term`.
    pub fn concurrency(slots: u64, term: Duration) -> Result<Self, LimitError> {
        Ok(Self {
            algorithm: Algorithm::Concurrency,
            share: 0,
            kind: Kind::Concurrency(Concurrency::new(slots, term)?),
        })
    }

    /// A limit as it was written elsewhere; `None` if its numbers are not for that algorithm.
    pub(crate) fn of(algorithm: Algorithm, share: u32, kind: Kind) -> Option<Self> {
        let shapes = matches!(&kind, Kind::Meter(meter) if meter.is_shaping());
        (!shapes || algorithm == Algorithm::LeakyBucket).then_some(Self { algorithm, share, kind })
    }

    /// The same limit, with counters that share a store's memory with those of limits with the same number: what counters
    /// of other numbers take cannot crowd them out. A rule gives all of its limits one number, which stays when it is reloaded.
    /// Limits that follow each other on one counter have one number: a store need not look for what another left.
    #[must_use]
    pub const fn in_share(mut self, share: u32) -> Self {
        self.share = share;
        self
    }

    /// The number of its share; 0 if nobody gave it one.
    pub const fn share(&self) -> u32 {
        self.share
    }

    /// Its algorithm.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The most units that can ever be available at once: burst, amount or slots.
    pub const fn capacity(&self) -> u64 {
        match &self.kind {
            Kind::Meter(meter) => meter.capacity(),
            Kind::FixedWindow(window) => window.amount(),
            Kind::SlidingWindow(window) => window.amount(),
            Kind::SlidingLog(log) => log.amount(),
            Kind::Concurrency(slots) => slots.slots(),
        }
    }

    /// The time that the capacity is for: the window's length, or how long a full bucket takes to drain.
    /// `None` for concurrency.
    pub fn window_us(&self) -> Option<u64> {
        match &self.kind {
            Kind::Meter(meter) => Some(meter.drain_us()),
            Kind::FixedWindow(window) => Some(window.length_us()),
            Kind::SlidingWindow(window) => Some(window.window_us()),
            Kind::SlidingLog(log) => Some(log.window_us()),
            Kind::Concurrency(_) => None,
        }
    }

    /// How long a slot lasts that is not renewed; `None` for everything but concurrency.
    pub const fn term_us(&self) -> Option<u64> {
        match &self.kind {
            Kind::Concurrency(slots) => Some(slots.term_us()),
            _ => None,
        }
    }

    /// Whether it has calendar bounds, which hold for a while only.
    pub const fn is_calendar(&self) -> bool {
        matches!(&self.kind, Kind::FixedWindow(window) if window.is_calendar())
    }

    /// The same limit for every period of its calendar, to tell how full a state is; others are as they are.
    #[must_use]
    pub const fn without_bounds(&self) -> Self {
        match self.kind {
            Kind::FixedWindow(window) => Self { kind: Kind::FixedWindow(window.without_bounds()), ..*self },
            _ => *self,
        }
    }

    /// The part of the limit that one of so many may spend, rounded up, and at least `least`: of the amount, and of a rate. The
    /// same limit with other numbers.
    #[must_use]
    pub fn divided(&self, among: u32, least: u64) -> Self {
        let among = u64::from(among.max(1));
        let part = |amount: u64| amount.div_ceil(among).max(least).clamp(1, amount);
        let kind = match self.kind {
            Kind::Meter(meter) => Kind::Meter(meter.divided(among, part(meter.capacity()))),
            Kind::FixedWindow(window) => Kind::FixedWindow(window.with_amount(part(window.amount()))),
            Kind::SlidingWindow(window) => Kind::SlidingWindow(window.with_amount(part(window.amount()))),
            Kind::SlidingLog(log) => Kind::SlidingLog(log.with_amount(part(log.amount()))),
            Kind::Concurrency(slots) => Kind::Concurrency(slots.with_slots(part(slots.slots()))),
        };
        Self { kind, ..*self }
    }

    /// What makes this the same limit after its numbers have changed: the algorithm and, for those that count in
    /// windows, the kind and length of the window. It belongs into the keys of the limit's counters, so that another limit
    /// starts afresh. A meter's rate and a calendar's period are not in it: two of those need names to tell them apart.
    pub fn identity(&self) -> [u8; 10] {
        let (form, window_us) = match &self.kind {
            Kind::Meter(_) | Kind::Concurrency(_) => (0, 0),
            Kind::FixedWindow(window) => window.identity(),
            Kind::SlidingWindow(window) => (window.parts(), window.window_us()),
            Kind::SlidingLog(log) => (0, log.window_us()),
        };
        let mut identity = [0; 10];
        identity[0] = self.algorithm as u8;
        identity[1] = form;
        identity[2..].copy_from_slice(&window_us.to_be_bytes());
        identity
    }

    /// Whether the limit can be applied at that instant: always, unless it has calendar bounds that lie elsewhere.
    pub fn covers(&self, now: Timestamp) -> bool {
        match &self.kind {
            Kind::FixedWindow(window) => window.covers(now),
            _ => true,
        }
    }
}

impl Algorithm {
    /// The name as rules, metrics and answers write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gcra => "gcra",
            Self::TokenBucket => "token_bucket",
            Self::LeakyBucket => "leaky_bucket",
            Self::FixedWindow => "fixed_window",
            Self::SlidingWindow => "sliding_window",
            Self::SlidingLog => "sliding_log",
            Self::Concurrency => "concurrency",
        }
    }
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A length of time as whole microseconds, within what a limit may have.
pub(crate) fn micros(span: Duration) -> Result<u64, LimitError> {
    let nanos = span.as_nanos();
    if nanos == 0 {
        return Err(LimitError::ZeroWindow);
    }
    if !nanos.is_multiple_of(1000) {
        return Err(LimitError::FractionalWindow { nanos });
    }
    let span_us = u64::try_from(nanos / 1000).unwrap_or(u64::MAX);
    within_max_window(span_us)
}

pub(crate) fn within_max_window(span_us: u64) -> Result<u64, LimitError> {
    if u128::from(span_us) > MAX_WINDOW.as_micros() {
        return Err(LimitError::TooSlow { span_us });
    }
    Ok(span_us)
}

pub(crate) const fn amount_in_range(amount: u64) -> Result<u64, LimitError> {
    match amount {
        0 => Err(LimitError::ZeroAmount),
        1..=MAX_AMOUNT => Ok(amount),
        _ => Err(LimitError::AmountTooLarge { amount }),
    }
}
