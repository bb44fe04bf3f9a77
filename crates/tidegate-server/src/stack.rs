//! The store behind all doors, composed once, top to bottom.

use tidegate_core::Timestamp;
use tidegate_store::Memory;

use crate::checkpoint::{self, Opened};
use crate::config::{Config, StoreKind};

/// What decides: today the store in memory by itself.
pub(crate) type Stack = Memory;

/// Builds it, with what was kept of an earlier one.
pub(crate) fn build(config: &Config, now: Timestamp) -> (Stack, Option<Opened>) {
    match config.store {
        StoreKind::Memory => checkpoint::open(config, now),
    }
}
