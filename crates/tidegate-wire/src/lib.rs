//! Protocols: how a verdict is told to the outside, and what of the outside is to be trusted.
//!
//! On the way in, [`client_ip`] says who sent a request that came through proxies.

pub mod client_ip;

pub use client_ip::{Prefixes, Source, Trusted, TrustedError};
