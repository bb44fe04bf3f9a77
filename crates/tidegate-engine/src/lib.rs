//! The way of a check, one direction and one type per station: [`matching`] finds the rules, [`resolve`] makes a plan of
//! them, the store decides it, [`settle`] makes a decision of its word, [`observe`] counts it.
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
//! # fn wait<F: Future>(future: F) -> F::Output {
//! #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
//! #     match std::pin::pin!(future).as_mut().poll(&mut context) {
//! #         std::task::Poll::Ready(output) => output,
//! #         std::task::Poll::Pending => unreachable!("an embedded store answers at once"),
//! #     }
//! # }
//! let now = Timestamp::from_micros(1_790_000_000_000_000);
//! # let (first, second) = (wait(engine.check(&check, now)), wait(engine.check(&check, now)));
//! # /*
//! let first = engine.check(&check, now).await;
//! let second = engine.check(&check, now).await;
//! # */
//! assert_eq!(first.unwrap().outcome, Outcome::Allow);
//! assert_eq!(second.unwrap().outcome, Outcome::Deny);
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
mod swar;
mod contain;
mod reserved;
mod held;
mod refund;
mod tickets;
mod loaded;
mod way;
mod engine;
mod throttle;

pub use check::{Charging, Check, Descriptor, Malformed, Override};
pub use decision::{Consistency, Decision, LimitView, Outcome, RuleRef};
pub use engine::{Engine, Settled};
pub use last_resort::LastResort;
pub use observe::Observed;
pub use reserved::Used;
pub use throttle::{Throttle, Throttled};
