//! Protocols: how a verdict is told to the outside, and what of the outside is to be trusted.
//!
//! On the way in, [`client_ip`] says who sent a request that came through proxies, and `trust` whose word counts for which
//! attribute. On the way out, [`headers`] tells the client where it stands with each limit, and [`problem`] writes the body
//! of a refusal. Nothing of this waits or reads a clock: bytes come in, bytes go out.
//!
//! With features, there are doors to the engine: `rls` is Envoy's rate limit service, `v1` one of our own, `http` an API in
//! JSON, `resp` the Redis protocol. All ask through a `door`, which is given its clock.
//!
//! ```
//! use http::HeaderMap;
//! use tidegate_core::{Limit, State, Timestamp};
//! use tidegate_wire::{Kind, Problem, Report, Settings, Summary, headers};
//!
//! let limit = Limit::sliding_window(1, std::time::Duration::from_secs(60))?;
//! let (mut state, now) = (State::EMPTY, Timestamp::from_micros(1_700_000_040_000_000));
//! limit.step(&mut state, now, 1)?;
//! let verdict = limit.step(&mut state, now, 1)?;
//! let reports = [Report::new("per-user", &limit, &verdict)];
//! let summary = Summary::new(&reports, now);
//!
//! let mut answer = HeaderMap::new();
//! headers::write(&mut answer, &summary, &Settings::default());
//! assert_eq!(answer["ratelimit-policy"], r#""per-user";q=1;w=60"#);
//! assert!(answer.contains_key("retry-after"));
//!
//! let problem = Problem::from_summary(Kind::QuotaExceeded, &summary);
//! assert_eq!(problem.status(), 429);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod client_ip;
#[cfg(feature = "door")]
pub mod trust;
#[cfg(feature = "rls")]
pub mod rls;
#[cfg(feature = "v1")]
pub mod v1;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "resp")]
pub mod resp;
#[cfg(any(feature = "rls", feature = "http"))]
mod ratelimit;
#[cfg(feature = "door")]
pub mod door;
pub mod headers;
mod digits;
pub mod problem;
#[cfg(feature = "http")]
pub mod openapi;

pub use client_ip::{Prefixes, Source, Trusted, TrustedError};
#[cfg(feature = "door")]
pub use door::{Door, DoorSettings};
pub use headers::{Ietf, Legacy, PartitionKey, Report, SettingError, Settings, Summary, Unit};
pub use problem::{Kind, Problem};
#[cfg(feature = "door")]
pub use trust::Trust;
