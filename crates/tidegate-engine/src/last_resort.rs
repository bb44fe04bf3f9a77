//! What holds when nobody counts: a coarse filter in this node's memory, for all that is let pass by class alone. It takes a
//! check and the time and says whether there is room; [`settle`](crate::settle) decides what that means.

use smallvec::SmallVec;
use tidegate_core::{Key, Limit, Plan, PlanError, Timestamp};
use tidegate_store::{Answer, Memory, StoreError};

use crate::check::Check;
use crate::contain::contain;
use crate::loaded::LoadedDomain;
use crate::matching;

/// Bytes for counters of tenants: room for some hundred thousand. Beyond that those that have used the least make room.
const CAP_BYTES: usize = 8 << 20;

/// What counts of a tenant's name. Longer ones share a counter with others that begin alike.
const NAME_BYTES: usize = 1024;

/// How much this node lets pass without a count: of all together, and of each tenant. Without numbers it lets everything
/// pass.
#[derive(Debug, Default)]
pub struct LastResort {
    node: Option<Limit>,
    tenant: Option<Limit>,
    counters: Option<Memory>,
}

/// Whether what is asked about is about to pass, or somebody only wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It passes if it may: it counts.
    ToPass,
    /// Nothing is counted.
    ToSee,
}

/// A question to the last resort, to be asked if it comes to that.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) resort: &'a LastResort,
    pub(crate) check: &'a Check<'a>,
    pub(crate) asked: Asked,
}

impl LastResort {
    /// A filter for all of a node, and one for each tenant; in domains without tenants, for each domain.
    pub fn new(node: Option<Limit>, tenant: Option<Limit>) -> Self {
        let counts = node.is_some() || tenant.is_some();
        Self { node, tenant, counters: counts.then(|| Memory::with_cap(CAP_BYTES)) }
    }

    /// Both are paid or none is.
    fn plan(&self, check: &Check<'_>, domain: Option<&LoadedDomain>) -> Result<Plan, PlanError> {
        let mut plan = Plan::new();
        if let Some(node) = self.node {
            plan.charge(Key { home: &[], own: &[b"node"] }, node, 1)?;
        }
        if let Some(limit) = self.tenant {
            let tenant = domain.and_then(|loaded| matching::tenant(check, &loaded.domain));
            // Domains that nobody has rules for could be any: they count as one.
            let domain = domain.map_or("", |loaded| &loaded.domain.name);
            let tenant = tenant.map(|tenant| &tenant.as_bytes()[..tenant.len().min(NAME_BYTES)]);
            let home: SmallVec<[&[u8]; 2]> =
                [Some(domain.as_bytes()), tenant].into_iter().flatten().collect();
            plan.charge(Key { home: &home, own: &[b"tenant"] }, limit, 1)?;
        }
        Ok(plan)
    }
}

impl Question<'_> {
    /// Whether there is room. If even that cannot be told, there is.
    pub(crate) fn has_room(&self, domain: Option<&LoadedDomain>, now: Timestamp) -> bool {
        let Some(counters) = &self.resort.counters else { return true };
        let room = contain(|| self.ask(counters, domain, now)).ok().flatten();
        room.unwrap_or(true)
    }

    fn ask(&self, counters: &Memory, domain: Option<&LoadedDomain>, now: Timestamp) -> Option<bool> {
        let plan = self.resort.plan(self.check, domain).ok()?;
        let answer: Result<Answer, StoreError> = match self.asked {
            Asked::ToPass => counters.decide_now(&plan, now),
            Asked::ToSee => counters.read_now(&plan, now),
        };
        answer.ok().map(|answer| answer.allowed())
    }
}
