//! Noticing that a server has lost its counters: each has a mark beside them, which is looked for again and again.
//!
//! A mark is a key in one of the server's slots, and is remembered by that slot: when slots move to another server, it goes with
//! them and is looked for there. A slot in which this node has not seen a mark before cannot have lost one. So what is missing was
//! lost, or thrown out by a server that evicts; even then nothing counts twice, because counters are raised to what is known of
//! them, never charged again.

use std::collections::HashMap;

use futures_util::future::join_all;
use smallvec::SmallVec;
use tidegate_core::KeyRef;

use crate::call::Call;
use crate::client::slots::{slot_of_tag, tag_in};
use crate::scripts;
use crate::shards::{Shard, Shards};
use crate::store::Redis;

/// The marks that this node has seen: one for each server, and for a moment more after slots have moved.
#[derive(Debug, Default)]
pub struct Marks {
    known: HashMap<Spot, Known>,
}

/// What became of servers since they were looked at before; of the others nothing did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// They have lost their counters.
    pub lost: Vec<Shard>,
    /// They did not answer.
    pub silent: Vec<Shard>,
}

/// What was found on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// No answer.
    Nothing,
    /// The mark that is known, or one in a slot that was not looked at before.
    Mark,
    /// Another one in place of the known one.
    Another,
}

/// Where a mark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Spot {
    route: usize,
    slot: u16,
}

#[derive(Debug)]
struct Known {
    key: Vec<u8>,
    mark: String,
}

/// A spot that is looked at.
struct Look {
    spot: Spot,
    key: Vec<u8>,
    /// The place of its server among all.
    shard: usize,
}

impl<C: Shards + 'static> Redis<C> {
    /// Looks at the mark of every server, one call each, all at once. `fresh` is what marks are to be where there is none: a text
    /// that nobody has used before.
    pub async fn look(&self, marks: &mut Marks, fresh: &str) -> Looked {
        let shards = self.caller().shards();
        let looks = marks.looks(&shards, |tag| self.names().mark(tag));
        let found = join_all(looks.iter().map(|look| self.mark(look, fresh))).await;
        let found = marks.take(looks.into_iter().zip(found).collect(), shards.len());
        let mut looked = Looked::default();
        for (shard, found) in shards.into_iter().zip(found) {
            match found {
                Found::Mark => {}
                Found::Another => looked.lost.push(shard),
                Found::Nothing => looked.silent.push(shard),
            }
        }
        looked
    }

    /// Whether a counter lives on that server.
    pub fn is_on(&self, shard: &Shard, key: KeyRef<'_>) -> bool {
        let tag = self.names().tag(key.home());
        self.caller().route_of(&tag) == shard.route && shard.slots.has(slot_of_tag(&tag))
    }

    async fn mark(&self, look: &Look, fresh: &str) -> Option<String> {
        let keys = SmallVec::from_iter([look.key.clone()]);
        let call = Call::new(&scripts::MARK, keys, SmallVec::from_iter([fresh.as_bytes().to_vec()]));
        match self.caller().call_on(look.spot.route, call).await {
            Ok(redis::Value::BulkString(mark)) => String::from_utf8(mark).ok(),
            _ => None,
        }
    }
}

impl Marks {
    /// Where to look: at all marks that are known and on a server, and at the first slot of each server that has none of them.
    fn looks(&self, shards: &[Shard], name: impl Fn(&str) -> Vec<u8>) -> Vec<Look> {
        let mut looks = Vec::with_capacity(shards.len());
        for (index, shard) in shards.iter().enumerate() {
            let is_here = |spot: &Spot| spot.route == shard.route && shard.slots.has(spot.slot);
            let known = self.known.iter().filter(|(spot, _)| is_here(spot));
            let before = looks.len();
            looks.extend(known.map(|(spot, known)| Look {
                spot: *spot,
                key: known.key.clone(),
                shard: index,
            }));
            if let Some(slot) = shard.slots.first().filter(|_| looks.len() == before) {
                let spot = Spot { route: shard.route, slot };
                looks.push(Look { spot, key: name(&tag_in(slot)), shard: index });
            }
        }
        looks.sort_unstable_by_key(|look| look.spot);
        looks
    }

    /// Takes what was found, in the order of the spots, for so many servers. Marks that could not be looked at stay known, and of
    /// those that were found on one server the first.
    fn take(&mut self, answers: Vec<(Look, Option<String>)>, shards: usize) -> Vec<Found> {
        let mut found = vec![Found::Nothing; shards];
        for (Look { spot, key, shard }, mark) in answers {
            let Some(mark) = mark else { continue };
            let before = self.known.remove(&spot);
            let is_another = before.is_some_and(|before| before.mark != mark);
            if found[shard] == Found::Nothing {
                self.known.insert(spot, Known { key, mark });
            }
            found[shard] = found[shard].max(if is_another { Found::Another } else { Found::Mark });
        }
        found
    }
}

#[cfg(test)]
mod tests;
