//! The store behind all doors, composed once, top to bottom.

use tidegate_store::Reference;

use crate::config::{Config, StoreKind};

/// What decides: today the reference store by itself.
pub(crate) type Stack = Reference;

/// Builds it.
pub(crate) fn build(config: &Config) -> Stack {
    match config.store {
        StoreKind::Memory => Reference::with_cap(config.limits.memory_bytes),
    }
}
