//! Asking: one call, and another one with more keys where the script says that it needs them.

use smallvec::SmallVec;
use tidegate_core::{Outside, Timestamp};
use tidegate_store::StoreError;

use super::Redis;
use crate::call::{Call, CallError, Caller, Fault};
use crate::draft::{Draft, Preface, Way};
use crate::scripts;
use crate::settings::Clock;

/// How often a script may ask for more keys: each value of a plan can run over and lend.
const MOST_TRIES: usize = 200;

/// How much longer values are kept when the server does not know the time.
const SLACK_MS: u32 = 3_600_000;

impl<C: Caller + 'static> Redis<C> {
    /// Calls the general script with a draft and what comes behind it. Nothing is written before it has all keys.
    pub(super) async fn ask(
        &self,
        draft: &mut Draft,
        (way, now): (Way, Timestamp),
        rest: &[u8],
    ) -> Result<Vec<u8>, StoreError> {
        let (now_us, slack_ms) = self.time(now);
        let preface = Preface { way, now_us, slack_ms };
        for _ in 0..MOST_TRIES {
            let reply = self.call(draft.call(&preface, rest)).await?.ok_or_else(garbled)?;
            let goes_on = match reply.as_slice() {
                [b'O', place, levels] => draft.look_beyond(*place, *levels),
                [b'D', place] => draft.lend_at(*place),
                [b'R'] => return Err(StoreError::Recalculate(Outside)),
                [b'C'] => return Err(StoreError::IdempotencyConflict),
                [b'T'] => return Err(StoreError::TicketTaken),
                [b'F'] => return Err(StoreError::Full),
                [b'V'] => return Err(uncharged(Fault::NewerFormat)),
                _ => return Ok(reply),
            };
            if !goes_on {
                return Err(StoreError::Full);
            }
        }
        Err(garbled())
    }

    /// The instant that scripts are told, 0 for the server's own, and how much longer than they count they keep values.
    pub(super) fn time(&self, now: Timestamp) -> (u64, u32) {
        match self.clock {
            Clock::Server => (0, 0),
            Clock::Given => (now.as_micros(), SLACK_MS),
        }
    }

    /// What is written under a key.
    pub(super) async fn fetch(&self, key: Vec<u8>) -> Result<Option<Vec<u8>>, StoreError> {
        let keys = SmallVec::from_iter([key]);
        self.call(Call::new(&scripts::FETCH, keys, SmallVec::new())).await
    }

    /// One call, and the bytes that it answers; `None` if there are none.
    pub(super) async fn call(&self, call: Call) -> Result<Option<Vec<u8>>, StoreError> {
        match self.reply(call).await? {
            redis::Value::BulkString(bytes) => Ok(Some(bytes)),
            redis::Value::Nil => Ok(None),
            _ => Err(garbled()),
        }
    }

    /// One call, and whatever it answers.
    pub(super) async fn reply(&self, call: Call) -> Result<redis::Value, StoreError> {
        self.caller.call(call).await.map_err(unavailable)
    }
}

/// Why there is no answer, as those who must do without one need to know it.
pub(crate) fn unavailable(error: CallError) -> StoreError {
    let CallError { shard, fault, may_have_run } = error;
    StoreError::Unavailable { shard, kind: fault.kind(), maybe_charged: may_have_run }
}

/// It answered, and may have charged.
pub(crate) fn garbled() -> StoreError {
    StoreError::Unavailable { shard: String::new(), kind: Fault::Garbled.kind(), maybe_charged: true }
}

/// It answered, and nothing was charged.
pub(super) fn uncharged(fault: Fault) -> StoreError {
    StoreError::Unavailable { shard: String::new(), kind: fault.kind(), maybe_charged: false }
}
