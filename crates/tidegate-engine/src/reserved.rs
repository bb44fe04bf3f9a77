//! How the costs of a reservation came about, so that it can be settled at what was really used.

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

/// The costs of a reservation.
#[derive(Clone, Debug)]
pub(crate) struct Reserved {
    /// How many times the cost of one request it was charged.
    times: u64,
    /// Charges whose cost comes from an attribute. Rules may change before they are settled, so that what is needed of them
    /// is kept here.
    measured: Vec<Measured>,
}

/// A charge whose cost comes from an attribute.
#[derive(Clone, Debug)]
struct Measured {
    /// Its place in the plan.
    place: usize,
    attribute: Box<str>,
    most: u64,
    times: u64,
}

impl Reserved {
    /// How the costs of a plan came about; `parts` are what its charges stand for, in order.
    pub(crate) fn new(check: &Check<'_>, domain: Option<&Domain>, parts: &[Part]) -> Self {
        let measured = parts.iter().enumerate().filter_map(|(place, part)| {
            let (domain, rule) = (domain?, domain?.rules.get(part.rule()? as usize)?);
            let Cost::Attribute { attribute, most, .. } = rule.cost else { return None };
            let descriptor = part.descriptor.and_then(|place| check.descriptors.get(usize::from(place)));
            let times = descriptor.and_then(|one| one.cost).unwrap_or(check.cost);
            let is_limit = !part.is_gate();
            let attribute = domain.names.name(attribute).into();
            is_limit.then_some(Measured { place, attribute, most, times })
        });
        Self { times: check.cost, measured: measured.collect() }
    }

    /// What each charge of the plan costs, now that it is known what was used.
    pub(crate) fn costs(&self, plan: &Plan, used: Used<'_>) -> Result<Vec<u64>, Malformed> {
        match used {
            Used::Cost(cost) => Ok(self.costs_of(plan, cost)),
            Used::Attributes(pairs) => self.costs_by(plan, pairs),
        }
    }

    fn costs_of(&self, plan: &Plan, used: u64) -> Vec<u64> {
        let cost = |(place, charge): (usize, Charge<'_>)| match self.measured_at(place) {
            Some(measured) => used.min(measured.most),
            None if !self.measured.is_empty() => charge.cost,
            None => match charge.pay {
                Pay::IfRefused { .. } => charge.cost,
                _ => charge.cost.checked_div(self.times).unwrap_or(1).saturating_mul(used),
            },
        };
        plan.charges().enumerate().map(cost).collect()
    }

    fn costs_by(&self, plan: &Plan, pairs: &[(&str, &str)]) -> Result<Vec<u64>, Malformed> {
        let given = |attribute: &str| pairs.iter().find(|(name, _)| matching::names(name, attribute));
        if !self.measured.iter().any(|measured| given(&measured.attribute).is_some()) {
            return Err(Malformed::NothingMeasured(self.help()));
        }
        let cost = |(place, charge): (usize, Charge<'_>)| {
            let measured = self.measured_at(place);
            let Some((measured, (_, text))) =
                measured.and_then(|measured| Some((measured, given(&measured.attribute)?)))
            else {
                return Ok(charge.cost);
            };
            let units = resolve::measured(text, measured.most)
                .ok_or_else(|| Malformed::UnreadableCost { attribute: measured.attribute.to_string() })?;
            Ok(units.saturating_mul(measured.times.max(1)).min(MAX_COST))
        };
        plan.charges().enumerate().map(cost).collect()
    }

    fn measured_at(&self, place: usize) -> Option<&Measured> {
        self.measured.iter().find(|measured| measured.place == place)
    }

    /// What to send instead.
    fn help(&self) -> String {
        let mut names: Vec<&str> = self.measured.iter().map(|measured| &*measured.attribute).collect();
        names.dedup();
        if names.is_empty() {
            "none takes its cost from an attribute: send `cost`".to_owned()
        } else {
            format!("its rules read {}", names.join(", "))
        }
    }
}
