//! What operators write, what it means, and what is wrong with it.
//!
//! Files become texts with places in them ([`source`]), trees that remember where everything stood ([`yaml`]), held
//! against tables of keys ([`mod@reference`]), and at last one [`Snapshot`] ([`compile`]) that a check sees from start to end.
//! Whatever is wrong is said with its place and what to write instead ([`diagnostic`]), all of it in one go.

pub mod source;
pub mod diagnostic;
pub mod yaml;
mod tree_yaml;
mod read;
pub mod notation;
mod meant;
pub mod shape;
pub mod reference;
mod short;
pub mod name;
pub mod glob;
pub mod number;
pub mod condition;
pub mod matcher;
pub mod address;
pub mod calendar;
pub mod schedule;
mod limits;
mod conditions;
mod capture;
pub mod identity;
pub mod descriptors;
pub mod rule;
pub mod home;
pub mod snapshot;
pub mod apart;
pub mod switch;
mod secrets;
mod compile;
mod allow;
mod lint;
pub mod words;
pub mod table;
pub mod homes;
pub mod schema;
pub mod starter;
#[doc(hidden)]
pub mod corpus;

pub use compile::{Compiled, Context, File, compile, compile_in};
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use snapshot::{Domain, Snapshot};
pub use source::{Place, Source, Span};
