//! Bytes of protocols, decoded and encoded. It knows neither rules nor stores: bytes and verdicts come in, bytes go out, and
//! nothing waits or reads a clock.
//!
//! On the way in, [`client_ip`] finds the client of a request that came through proxies, [`trust`] says whose word counts
//! for which attribute, [`envoy`], [`json`], [`resp`] and [`timeout`] decode what callers send. On the way out, [`headers`]
//! tell a client where it stands with each limit, [`problem`] is the body of a refusal, and the encoders of the same
//! protocols write answers.
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
pub mod trust;
pub mod timeout;
pub mod envoy;
pub mod json;
pub mod resp;
pub mod headers;
pub mod decision_id;
mod digits;
pub mod problem;

pub use client_ip::{Prefixes, Source, Trusted, TrustedError};
pub use decision_id::DecisionId;
pub use headers::{Ietf, Legacy, PartitionKey, Report, SettingError, Settings, Summary, Unit};
pub use problem::{Kind, Problem};
pub use trust::Trust;
