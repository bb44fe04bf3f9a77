//! Which charges of a check a refund gives back.

use tidegate_rules::Domain;
use tidegate_rules::rule::Cost;

use crate::check::Check;
use crate::matching;
use crate::meaning::Part;
use crate::way::Way;

/// If the check names an attribute from which rules take their cost, what is given back is a measured number of units: the
/// charges of other rules, such as a request or a slot, stay.
pub(crate) fn keep_what_is_measured(way: &mut Way<'_>, check: &Check<'_>) {
    let Some(domain) = way.decision.domain() else { return };
    let parts = &way.decision.meaning.parts;
    let is_measured: Vec<bool> = parts.iter().map(|part| is_measured(part, domain, check)).collect();
    if is_measured.contains(&true) {
        way.plan.set_costs(|place, cost| if is_measured.get(place) == Some(&true) { cost } else { 0 });
    }
}

fn is_measured(part: &Part, domain: &Domain, check: &Check<'_>) -> bool {
    let rule = part.rule().and_then(|rule| domain.rules.get(rule as usize));
    let Some(Cost::Attribute { attribute, .. }) = rule.map(|rule| &rule.cost) else { return false };
    let entries = check.descriptors.iter().flat_map(|descriptor| descriptor.entries);
    let mut names = check.attributes.iter().chain(entries).map(|(name, _)| *name);
    names.any(|name| matching::attribute(domain, name) == Some(*attribute))
}
