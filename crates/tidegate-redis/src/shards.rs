//! Which servers there are, and which counters each of them has: what is on one server is lost together.

use std::future::Future;

use crate::call::{Call, CallError, Caller};
use crate::client::slots::Slots;

/// A caller that knows its servers.
pub trait Shards: Caller {
    /// The servers that have counters, as far as they are known just now.
    fn shards(&self) -> Vec<Shard>;

    /// Which of several stores keys with this tag belong to.
    fn route_of(&self, _tag: &[u8]) -> usize {
        0
    }

    /// Brings a call to that one of several stores, whatever its keys.
    fn call_on(
        &self,
        _route: usize,
        call: Call,
    ) -> impl Future<Output = Result<redis::Value, CallError>> + Send {
        self.call(call)
    }
}

/// One server that has counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its name in metrics.
    pub(crate) name: String,
    /// Which of several stores it belongs to.
    pub(crate) route: usize,
    /// Which keys of that store it has.
    pub(crate) slots: Slots,
}

impl Shard {
    /// Its name, as metrics have it.
    pub fn name(&self) -> &str {
        &self.name
    }
}
