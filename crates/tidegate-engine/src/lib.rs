//! The path of a check, one direction and one type per station: [`matching`] finds the rules, [`resolve`] makes a plan of
//! them, the store decides it, [`settle`] makes a decision of its answer, [`observe`] counts it.
//!
//! ```
//! use tidegate_core::Timestamp;
//! use tidegate_engine::{Check, Engine, Outcome};
//! use tidegate_rules::{Source, compile};
//! use tidegate_store::Reference;
//!
//! let rules = "domain: api\nrules: [{ name: per-user, by: [user], limit: 1/min }]";
//! let engine = Engine::new(Reference::new());
//! engine.install(compile(vec![Source::new("api.yaml", rules)]).snapshot.unwrap());
//! let check = Check { attributes: &[("user", "alice")], ..Check::new("api") };
//! let now = Timestamp::from_micros(1_790_000_000_000_000);
//!
//! // The two halves, with a store that need not be waited for; `Engine::check` goes the whole path.
//! let decide = || {
//!     let mut pending = engine.begin(&check, now);
//!     assert!(engine.try_decide(&mut pending), "a store in memory answers without waiting");
//!     engine.finish(pending, &check)
//! };
//! assert_eq!(decide()?.outcome, Outcome::Allow);
//! assert_eq!(decide()?.outcome, Outcome::Deny);
//! # Ok::<(), tidegate_engine::Malformed>(())
//! ```

pub mod check;
pub mod matching;
mod meaning;
pub mod resolve;
mod last_resort;
pub mod settle;
pub mod decision;
pub mod observe;
pub mod unknown;
pub mod explain;
mod contain;
mod reserved;
mod held;
mod refund;
mod tickets;
mod loaded;
mod flight;
mod pending;
mod store_call;
mod engine;
mod acts;
mod throttle;

pub use acts::Settled;
pub use check::{Charging, Check, Descriptor, Malformed, Override};
pub use decision::{Consistency, Decision, LimitView, Outcome, RuleRef};
pub use engine::Engine;
pub use flight::{FlightLimit, FlightPermit};
pub use last_resort::LastResort;
pub use observe::Observed;
pub use pending::Pending;
pub use reserved::Used;
pub use throttle::{PendingThrottle, Throttle, Throttled};
