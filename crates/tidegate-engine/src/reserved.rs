//! How the costs of a reservation came about, so that it can be settled at what was really used.

use std::collections::BTreeSet;

use tidegate_core::{Charge, Pay, Plan};
use tidegate_rules::Domain;
use tidegate_rules::rule::Cost;

use crate::check::{Check, MAX_COST, Malformed};
use crate::matching;
use crate::meaning::Part;
use crate::resolve;

/// What a reservation really used.
#[derive(Clone, Copy)]
pub enum Used<'a> {
    /// The cost that the reservation estimated. Where rules of the reservation take their cost from an attribute, it takes the
    /// place of that number and the other rules keep their cost; where none does, it takes the place of the check's cost.
    Cost(u64),
    /// Attributes: rules that take their cost from one of them take it anew, and the others keep theirs.
    Attributes(&'a [(&'a str, &'a str)]),
}

/// Values may be secret: only names are shown.
impl std::fmt::Debug for Used<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cost(cost) => f.debug_tuple("Cost").field(cost).finish(),
            Self::Attributes(pairs) => f.debug_list().entries(pairs.iter().map(|(name, _)| name)).finish(),
        }
    }
}

/// How the cost of each charge of a reservation came about, in the order of its plan. Rules may change before it is settled,
/// so that what is needed of them is kept here.
#[derive(Clone, Debug)]
pub(crate) struct Reserved(Vec<ReservedCharge>);

#[derive(Clone, Debug)]
struct ReservedCharge {
    /// How many times the cost of one request it was charged.
    times: u64,
    /// The attribute that its cost came from, if it came from one. The rule's `most` bounds estimates; what was used is known.
    measured: Option<Box<str>>,
}

impl Reserved {
    /// How the costs of a plan came about; `parts` are what its charges stand for, in order.
    pub(crate) fn new(check: &Check<'_>, domain: Option<&Domain>, parts: &[Part]) -> Self {
        let charge = |part: &Part| ReservedCharge {
            times: part.descriptor.and_then(|place| check.descriptor(place)?.cost).unwrap_or(check.cost),
            measured: domain.and_then(|domain| measured(part, domain)),
        };
        Self(parts.iter().map(charge).collect())
    }

    /// What each charge of the plan costs, now that it is known what was used.
    pub(crate) fn costs(&self, plan: &Plan, used: Used<'_>) -> Result<Vec<u64>, Malformed> {
        match used {
            Used::Cost(cost) => Ok(self.costs_of(plan, cost)),
            Used::Attributes(pairs) => self.costs_by(plan, pairs),
        }
    }

    fn costs_of(&self, plan: &Plan, used: u64) -> Vec<u64> {
        let is_measured = self.0.iter().any(|reserved| reserved.measured.is_some());
        let cost = |(charge, reserved): (Charge<'_>, &ReservedCharge)| match &reserved.measured {
            Some(_) => used,
            None if is_measured || matches!(charge.pay, Pay::IfRefused { .. }) => charge.cost,
            None => charge.cost.checked_div(reserved.times).unwrap_or(1).saturating_mul(used),
        };
        plan.charges().zip(&self.0).map(cost).collect()
    }

    fn costs_by(&self, plan: &Plan, pairs: &[(&str, &str)]) -> Result<Vec<u64>, Malformed> {
        let given = |attribute: &str| {
            pairs.iter().find(|(name, _)| matching::names(name, attribute)).map(|(_, text)| *text)
        };
        if !self.measured().any(|attribute| given(attribute).is_some()) {
            return Err(Malformed::NothingMeasured(self.help()));
        }
        let cost = |(charge, reserved): (Charge<'_>, &ReservedCharge)| {
            let measured = reserved.measured.as_deref().and_then(|one| Some((one, given(one)?)));
            let Some((attribute, text)) = measured else { return Ok(charge.cost) };
            let units = resolve::measured(text, MAX_COST)
                .ok_or_else(|| Malformed::UnreadableCost { attribute: attribute.to_owned() })?;
            Ok(units.saturating_mul(reserved.times.max(1)).min(MAX_COST))
        };
        plan.charges().zip(&self.0).map(cost).collect()
    }

    fn measured(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|reserved| reserved.measured.as_deref())
    }

    /// What to send instead.
    fn help(&self) -> String {
        let names: BTreeSet<&str> = self.measured().collect();
        if names.is_empty() {
            "none takes its cost from an attribute: send `cost`".to_owned()
        } else {
            format!("its rules read {}", Vec::from_iter(names).join(", "))
        }
    }
}

fn measured(part: &Part, domain: &Domain) -> Option<Box<str>> {
    let rule = domain.rules.get(part.rule()? as usize).filter(|_| !part.is_gate())?;
    let Cost::Attribute { attribute, .. } = rule.cost else { return None };
    Some(domain.names.name(attribute).into())
}
