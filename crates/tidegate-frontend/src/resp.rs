//! The Redis protocol: any client for Redis can ask.
//!
//! | command | answer |
//! |---|---|
//! | `CL.THROTTLE key max_burst count period [quantity]` | five integers, as redis-cell |
//! | `THROTTLE key max_burst count period [quantity]` | five integers, as throttlecrab |
//! | `TG.CHECK domain [attribute value …] [COST n]` | a decision by the rules: eleven things |
//! | `TG.RESERVE`, `TG.REFUND` with the same words | a decision that is settled later, or what is left |
//! | `TG.COMMIT id attribute value …`, `TG.COMMIT id COST n`, `TG.CANCEL id` | 1 if it was settled, 0 if there was nothing |
//! | `TG.RELEASE id` | 1 if slots were given back, 0 if there were none |
//! | `TG.EXPLAIN domain [attribute value …]` | which rules it meets and why not the others, in lines |
//! | `PING` `ECHO` `HELLO` `AUTH` `CLIENT` `COMMAND` `INFO` `SELECT` `RESET` `QUIT` | as Redis, as far as clients need it |
//!
//! [`tidegate_wire::resp::Decoder`] reads commands out of bytes, [`Session`] answers them. Neither knows sockets or time;
//! both are bounded.

mod wrong;
mod table;
mod command;
mod throttle;
mod question;
mod explain;
mod about;
mod login;
mod peer;
mod input;
mod session;
#[cfg(test)]
mod tests;

pub use login::Password;
pub use session::{Next, Service, Session};
