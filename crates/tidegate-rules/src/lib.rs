//! What operators write, and what is wrong with it.
//!
//! The foundation of the rules: files as text with places in it ([`source`]), what can be said about a place
//! ([`diagnostic`]), YAML as a tree that remembers where everything stood ([`yaml`]), and limits in short, such as
//! `10/s burst 20` ([`notation`]). The compiler from trees to a snapshot is built on these.

pub mod source;
pub mod diagnostic;
pub mod yaml;
pub mod notation;
pub mod name;
pub mod glob;
pub mod number;
pub mod condition;
pub mod matcher;
#[doc(hidden)]
pub mod corpus;

pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use source::{Place, Source, Span};
