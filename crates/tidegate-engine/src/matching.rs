//! Which rules a check matches: takes the check and the rules, gives matches; knows neither numbers nor time.

use smallvec::SmallVec;
use tidegate_rules::Domain;
use tidegate_rules::condition::Facts;
use tidegate_rules::name::AttributeId;

use crate::check::{Check, Malformed};

/// What a check matches.
#[derive(Debug)]
pub struct Matches<'v> {
    /// What is known of the request; more than one view if its descriptors disagree.
    pub views: SmallVec<[View<'v>; 1]>,
    /// The rules of the tree, for each descriptor that has one.
    pub tree: SmallVec<[TreeMatch; 4]>,
}

/// The facts of a request, and the rules of ours that they match.
#[derive(Debug)]
pub struct View<'v> {
    /// The facts.
    pub facts: Facts<'v>,
    /// The rules, in order.
    pub rules: SmallVec<[u32; 16]>,
    /// The descriptor whose word goes first here, if there is one.
    pub descriptor: Option<u16>,
}

/// A descriptor and what it is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeMatch {
    /// Which of the check's descriptors.
    pub descriptor: u16,
    /// The rule; `None` if the descriptor brought its own limit.
    pub rule: Option<u32>,
}

/// Finds what a check matches in a domain.
pub fn find<'v>(check: &Check<'v>, domain: &'v Domain) -> Result<Matches<'v>, Malformed> {
    let mut views = SmallVec::new();
    let first = facts(check, domain, None);
    for descriptor in contradicting(check, domain, &first) {
        views.push(view(facts(check, domain, Some(descriptor)), Some(descriptor), domain)?);
    }
    views.insert(0, view(first, None, domain)?);
    Ok(Matches { views, tree: tree(check, domain) })
}

/// The number of an attribute; an address that Envoy names in its own way is the address.
pub(crate) fn attribute(domain: &Domain, name: &str) -> Option<AttributeId> {
    domain.names.get(name).or_else(|| if name == "remote_address" { domain.names.get("ip") } else { None })
}

/// All attributes, then all entries of descriptors; the first word counts, except that one descriptor may go first.
fn facts<'v>(check: &Check<'v>, domain: &Domain, preferred: Option<u16>) -> Facts<'v> {
    let mut facts = Facts::new();
    let preferred = preferred.and_then(|descriptor| check.descriptors.get(usize::from(descriptor)));
    let entries = check.descriptors.iter().flat_map(|descriptor| descriptor.entries);
    let all = preferred
        .into_iter()
        .flat_map(|descriptor| descriptor.entries)
        .chain(check.attributes)
        .chain(entries);
    for (name, value) in all {
        if let Some(attribute) = attribute(domain, name)
            && facts.get(attribute).is_none()
        {
            facts.set(attribute, value);
        }
    }
    facts
}

/// The descriptors with an entry that says something else than the first word on it.
fn contradicting(check: &Check<'_>, domain: &Domain, first: &Facts<'_>) -> SmallVec<[u16; 4]> {
    if check.descriptors.len() < 2 {
        return SmallVec::new();
    }
    let differs = |(name, value): &(&str, &str)| {
        let known = attribute(domain, name).and_then(|attribute| first.get(attribute));
        known.is_some_and(|known| known != *value)
    };
    let descriptors = (0_u16..).zip(check.descriptors);
    descriptors
        .filter(|(_, descriptor)| descriptor.entries.iter().any(differs))
        .map(|(place, _)| place)
        .collect()
}

fn view<'v>(
    mut facts: Facts<'v>,
    descriptor: Option<u16>,
    domain: &'v Domain,
) -> Result<View<'v>, Malformed> {
    derive(&mut facts, domain)?;
    let mut rules = SmallVec::new();
    domain.matcher.matches(&facts, &mut rules);
    Ok(View { facts, rules, descriptor })
}

/// Adds what follows from what is known. What the caller claims must not contradict it.
fn derive<'v>(facts: &mut Facts<'v>, domain: &'v Domain) -> Result<(), Malformed> {
    for identity in &domain.identities {
        let Some(value) = facts.get(identity.from) else { continue };
        let mut contradiction = None;
        identity.derive(value, |attribute, derived| match facts.get(attribute) {
            Some(claimed) if claimed != derived => contradiction = Some(attribute),
            _ => facts.set(attribute, derived),
        });
        if let Some(attribute) = contradiction {
            return Err(Malformed::Contradiction {
                attribute: domain.names.name(attribute).to_owned(),
                from: domain.names.name(identity.from).to_owned(),
            });
        }
    }
    Ok(())
}

/// A limit that came with a descriptor goes before the tree.
fn tree(check: &Check<'_>, domain: &Domain) -> SmallVec<[TreeMatch; 4]> {
    let mut found = SmallVec::new();
    for (place, descriptor) in (0_u16..).zip(check.descriptors) {
        let rule = domain.tree.find(descriptor.entries.iter().copied());
        if descriptor.limit.is_some() {
            found.push(TreeMatch { descriptor: place, rule: None });
        } else if rule.is_some() {
            found.push(TreeMatch { descriptor: place, rule });
        }
    }
    found
}
