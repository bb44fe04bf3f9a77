//! A commit as it comes by any protocol: what a reservation really used.

use tidegate_core::Ticket;
use tidegate_engine::check::{MAX_COST, validate_attributes};
use tidegate_engine::{Malformed, Settled, Used};
use tidegate_store::Store;

use super::Door;
use tidegate_wire::trust::{Caller, Trust};

/// A commit by a cost, or else by attributes.
pub(crate) struct Commit {
    id: Ticket,
    cost: Option<u64>,
    attributes: Vec<(String, String)>,
}

/// Values may be secret.
impl std::fmt::Debug for Commit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Commit").field("cost", &self.cost).finish_non_exhaustive()
    }
}

impl Commit {
    /// A sound commit; what is wrong with it.
    pub(crate) fn new(
        id: Ticket,
        cost: Option<u64>,
        attributes: Vec<(String, String)>,
    ) -> Result<Self, String> {
        match cost {
            Some(_) if !attributes.is_empty() => {
                return Err("`cost` and `attributes` both say what was used; send one of them".to_owned());
            }
            Some(cost) if cost > MAX_COST => return Err(format!("a cost of {cost} is more than {MAX_COST}")),
            None if attributes.is_empty() => {
                return Err("there is no `cost` and no `attributes`; say what was used".to_owned());
            }
            _ => {}
        }
        validate_attributes(&borrowed(&attributes)).map_err(|malformed| malformed.to_string())?;
        Ok(Self { id, cost, attributes })
    }

    /// Leaves out what the caller claims without being trusted.
    pub(crate) fn keep_what_counts(&mut self, trust: &Trust, caller: Caller) {
        trust.filter(caller, &mut self.attributes);
    }
}

impl<S: Store> Door<S> {
    /// Settles a reservation.
    pub(crate) async fn commit_sent(&self, commit: &Commit) -> Result<Settled, Malformed> {
        let attributes = borrowed(&commit.attributes);
        let used = commit.cost.map_or(Used::Attributes(&attributes), Used::Cost);
        self.commit(commit.id, used).await
    }
}

fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}
