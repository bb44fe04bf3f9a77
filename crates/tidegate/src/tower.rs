//! A tower layer: every request is checked before the service behind it sees it.
//!
//! ```
//! use std::time::Duration;
//! use tidegate::tower::http::HeaderName;
//! use tidegate::tower::{RateLimitLayer, key};
//! use tidegate::{Limit, Limiter, Rate, Rule};
//!
//! let per_key = Rule::new("per-key", Limit::gcra(Rate::new(50, Duration::from_secs(1))?, 100)?)?;
//! let in_flight = Rule::new("in-flight", Limit::concurrency(256, Duration::from_secs(60))?)?;
//! let layer = RateLimitLayer::new(Limiter::new())
//!     .rule(per_key, key::header(HeaderName::from_static("x-api-key")))
//!     .shed(in_flight);
//! # let _: RateLimitLayer = layer;
//! # Ok::<(), tidegate::Error>(())
//! ```
//!
//! All rules of a request are decided at once, all or nothing. An admitted request's response carries `RateLimit` and
//! `RateLimit-Policy`; a refused one is answered 429 with `Retry-After`, or 503 by a rule that sheds load, with a problem
//! details body; if it is gRPC, with the status `RESOURCE_EXHAUSTED` or `UNAVAILABLE`. Slots of concurrency limits are
//! given back when the response's body has ended, and on every other ending: an error, a client that goes away. Bodies may
//! be of any kind whose data is [`bytes::Bytes`], as those of axum, hyper and tonic are.

pub mod key;
mod layer;
mod service;
mod future;
mod body;
mod refusal;

pub use http;

pub use body::LimitedBody;
pub use future::ResponseFuture;
pub use key::{ClientIp, Head, KeyBytes, KeyOf};
pub use layer::{Applied, RateLimitLayer};
pub use service::RateLimit;
pub use tidegate_wire::client_ip::{Prefixes, Source, Trusted, TrustedError};
pub use tidegate_wire::headers::{Ietf, Legacy, Settings};
