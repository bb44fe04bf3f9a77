//! All counters, for those that carry them elsewhere.

use tidegate_core::State;

use super::Reference;
use crate::locked;

/// So many are noted down under one lock.
const AT_ONCE: usize = 16;

impl Reference {
    /// Notes counters down under their locks, a few at a time, and gives the notes to `take` when nothing is locked. Each is
    /// as it was at some instant of the walk; some may come twice, and the later one is newer.
    pub(crate) fn walk<T, E>(
        &self,
        note: impl Fn(&[u8], &State) -> Option<T>,
        mut take: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        for shard in &self.shards {
            let mut end = locked(shard).counters.len();
            // From the last to the first: what goes makes room for the last one, which has had its turn then.
            while end > 0 {
                let start = end.saturating_sub(AT_ONCE);
                let notes: Vec<T> = {
                    let shard = locked(shard);
                    let entries = (start..end).rev().filter_map(|place| shard.counters.entry(place));
                    entries.filter_map(|(key, state)| note(key, state)).collect()
                };
                notes.into_iter().try_for_each(&mut take)?;
                end = start;
            }
        }
        Ok(())
    }
}
