//! What wraps a store is a store.

mod dial;
pub mod fallback;

pub use dial::Members;
pub use fallback::Fallback;
