//! JSON: read strictly, written piece by piece.

mod fields;
mod plain_check;
mod unique_keys;
pub mod write;

pub use fields::{FieldError, Fields, kind, whole};
pub use plain_check::PlainCheck;
pub use unique_keys::UniqueKeys;
