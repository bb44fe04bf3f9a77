//! The store behind all doors, composed once, top to bottom.

use tidegate_store::Memory;

use crate::config::{Config, StoreKind};

/// What decides: today the store in memory by itself.
pub(crate) type Stack = Memory;

/// Builds it.
pub(crate) fn build(config: &Config) -> Stack {
    match config.store {
        StoreKind::Memory => Memory::with_cap(config.limits.memory_bytes),
    }
}
