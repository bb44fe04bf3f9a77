//! What a refund gives back of the charges of a check.

use tidegate_rules::Domain;
use tidegate_rules::rule::Cost;

use crate::check::{Check, Malformed};
use crate::matching;
use crate::meaning::{Note, Part};
use crate::pending::Pending;

/// If the check names an attribute from which rules take their cost, what is given back is a measured number of units: the
/// charges of other rules, such as a request or a slot, stay.
pub(crate) fn keep_what_is_measured(pending: &mut Pending<'_>, check: &Check<'_>) {
    let Some(domain) = pending.decision.domain() else { return };
    let parts = &pending.decision.meaning.parts;
    let is_measured: Vec<bool> = parts.iter().map(|part| is_measured(part, domain, check)).collect();
    if is_measured.contains(&true) {
        pending.plan.set_costs(|place, cost| if is_measured.get(place) == Some(&true) { cost } else { 0 });
    }
}

/// A refund whose cost cannot be read gives back nothing: the rule's default would be a guess.
pub(crate) fn readable(pending: &Pending<'_>) -> Result<(), Malformed> {
    let unreadable = pending.decision.meaning.notes.iter().find(|(_, note)| *note == Note::UnreadableCost);
    let domain = pending.decision.domain();
    let Some((domain, (rule, _))) = domain.zip(unreadable) else { return Ok(()) };
    match domain.rules.get(*rule as usize).map(|rule| &rule.cost) {
        Some(Cost::Attribute { attribute, .. }) => {
            Err(Malformed::UnreadableCost { attribute: domain.names.name(*attribute).to_owned() })
        }
        _ => Ok(()),
    }
}

fn is_measured(part: &Part, domain: &Domain, check: &Check<'_>) -> bool {
    let rule = part.rule().and_then(|rule| domain.rules.get(rule as usize));
    let Some(Cost::Attribute { attribute, .. }) = rule.map(|rule| &rule.cost) else { return false };
    let entries = check.descriptors.iter().flat_map(|descriptor| descriptor.entries);
    let mut names = check.attributes.iter().chain(entries).map(|(name, _)| *name);
    names.any(|name| matching::attribute(domain, name) == Some(*attribute))
}
