//! What a node has heard of those that count with it, and of what they count in.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tidegate_redis::{Assembly, Member};
use tidegate_store::StoreError;

/// For how many beats a node is counted that is not heard of any more: a store that comes back empty hears of them one by one, and
/// parts must not grow meanwhile.
const GRACE: usize = 3;

/// What was last heard of the others.
#[derive(Debug, Default)]
pub(crate) struct Heard(Mutex<News>);

/// What was heard, and what became of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct News {
    /// Who is there, as of the last time that anybody could say.
    pub(crate) members: Vec<Member>,
    /// Whether that was the last time that it was asked.
    pub(crate) is_fresh: bool,
    /// How often counters were found to be lost.
    pub(crate) losses: u64,
    /// How many there were at the last beats, the latest first.
    counts: [usize; GRACE],
}

impl Heard {
    /// What was last heard.
    pub(crate) fn get(&self) -> News {
        self.lock().clone()
    }

    /// How many there are: the most of the last few beats.
    pub(super) fn count(&self) -> u32 {
        let most = self.get().counts.into_iter().max().unwrap_or(1);
        u32::try_from(most).unwrap_or(u32::MAX).max(1)
    }

    /// Takes what was heard.
    pub(super) fn take(&self, heard: Result<&Assembly, &StoreError>) {
        let mut news = self.lock();
        news.is_fresh = heard.is_ok();
        let Ok(assembly) = heard else { return };
        news.members.clone_from(&assembly.members);
        news.counts.rotate_right(1);
        news.counts[0] = assembly.members.len();
    }

    /// A server was found to have lost its counters.
    pub(super) fn lost_one(&self) {
        self.lock().losses += 1;
    }

    fn lock(&self) -> MutexGuard<'_, News> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidegate_redis::{Assembly, Member};

    use super::Heard;

    fn assembly(nodes: usize) -> Assembly {
        let member = |id: usize| Member { id: id.to_string(), age: Duration::ZERO, told: String::new() };
        Assembly { members: (0..nodes).map(member).collect() }
    }

    #[test]
    fn nodes_are_not_forgotten_by_a_store_that_comes_back_empty() {
        let heard = Heard::default();
        heard.take(Ok(&assembly(3)));
        heard.take(Ok(&assembly(1)));
        assert_eq!(heard.count(), 3);
    }

    #[test]
    fn nodes_that_stay_away_are_forgotten_after_a_few_beats() {
        let heard = Heard::default();
        for (nodes, counted) in [(3, 3), (2, 3), (2, 3), (2, 2), (4, 4)] {
            heard.take(Ok(&assembly(nodes)));
            assert_eq!(heard.count(), counted);
        }
    }
}
