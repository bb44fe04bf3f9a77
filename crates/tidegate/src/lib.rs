//! Rate limits, quotas and concurrency limits in your process.
//!
//! Name a limit, ask it about a key, and get a decision that says what is left and when to come back:
//!
//! ```
//! use std::time::Duration;
//! use tidegate::{Limit, Limiter, Rate, Rule};
//!
//! let limiter = Limiter::new();
//! let per_user = Rule::new("per-user", Limit::gcra(Rate::new(10, Duration::from_secs(1))?, 3)?)?;
//!
//! for _ in 0..3 {
//!     assert!(limiter.check(&per_user, "alice")?.allowed());
//! }
//! let decision = limiter.check(&per_user, "alice")?;
//! assert!(!decision.allowed());
//! assert!(decision.retry_after().unwrap() <= Duration::from_millis(100));
//! # Ok::<(), tidegate::Error>(())
//! ```
//!
//! Several limits are decided at once, all or nothing: what is refused is charged nowhere.
//!
//! ```
//! # use std::time::Duration;
//! # use tidegate::{Limit, Limiter, Rate, Rule};
//! # let limiter = Limiter::new();
//! let per_user = Rule::new("per-user", Limit::sliding_window(100, Duration::from_secs(60))?)?;
//! let everyone = Rule::new("everyone", Limit::sliding_window(5_000, Duration::from_secs(60))?)?;
//!
//! let decision = limiter.check_all(&[per_user.on("alice"), everyone.on("")])?;
//! assert_eq!(decision.denied_by().next(), None);
//! assert_eq!(decision.remaining(), 99); // of the limit that is nearest to its end
//! # Ok::<(), tidegate::Error>(())
//! ```
//!
//! - [`Limiter::check`], [`check_all`](Limiter::check_all), [`peek`](Limiter::peek): the way of a check.
//! - [`Limiter::enter`]: concurrency; the guard gives its slot back when it is dropped.
//! - [`Limiter::reserve`]: charge an estimate now and the truth later.
//! - [`Limit`]: all algorithms, with what each promises.
//! - [`ManualClock`]: for tests that never sleep.
//! - `rules` (feature `rules`): rule files as the server takes them, and its whole engine.
//! - `tower` (feature `tower`): a layer for axum, tonic and other services.

mod clock;
mod rule;
mod limiter;
mod decision;
mod guard;
mod reservation;
#[cfg(feature = "rules")]
pub mod rules;
#[cfg(feature = "tower")]
pub mod tower;

pub use clock::{Clock, ManualClock, SystemClock};
pub use decision::{Admission, Decision};
pub use guard::Guard;
pub use limiter::Limiter;
pub use reservation::{Reservation, Settled};
pub use rule::{Ask, Rule};
pub use tidegate_core::{
    Algorithm, Bounds, Limit, LimitError, Outcome, PlanError, Rate, Retry, Timestamp, Verdict, Window,
};
pub use tidegate_store::reference::Usage;
pub use tidegate_store::{AtEnd, Hold, StoreError};

/// What can be wrong with a question. A refusal is not one of these: it is a [`Decision`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A limit that cannot be.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// A name that headers and metrics could not carry.
    #[error("the rule name {name:?} must be 1 to 64 of A-Z a-z 0-9 _ . : / -")]
    Name {
        /// The name.
        name: String,
    },
    /// A calendar window needs bounds for each check, which a fixed rule does not have.
    #[error("a rule cannot have a calendar window: its bounds change with time; use an aligned window")]
    Calendar,
    /// Too many limits at once, or too long a key.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A concurrency limit was asked without holding the slot.
    #[error("rule {rule} limits concurrency: use enter, whose guard gives the slot back")]
    NeedsGuard {
        /// The rule.
        rule: String,
    },
    /// The store could not decide.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/library.md")]
struct LibraryGuide;
