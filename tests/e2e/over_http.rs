//! The HTTP door, as curl would use it.

mod checks;
mod short_ways;
mod json;
mod health;
mod rubbish;
pub(crate) mod documented;
