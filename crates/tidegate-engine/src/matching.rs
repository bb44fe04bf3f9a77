//! Which rules a check matches: takes the check and the rules, gives matches; knows neither numbers nor time.

use std::sync::Arc;

use memchr::memchr2;
use smallvec::SmallVec;
use tidegate_rules::Domain;
use tidegate_rules::condition::Facts;
use tidegate_rules::name::AttributeId;

use crate::check::{Check, Malformed};

/// What a check matches. It is large, and filled where it stands.
#[derive(Debug, Default)]
pub struct Matches<'v> {
    /// What is known of the request; more than one view if its descriptors disagree.
    pub views: Views<'v>,
    /// The rules of the tree, for each descriptor that has one.
    pub tree: SmallVec<[TreeMatch; 4]>,
}

/// One view or more.
#[derive(Debug, Default)]
pub struct Views<'v> {
    /// The view in which every word that was said first counts.
    pub(crate) first: View<'v>,
    /// Most checks have none; counted, so that it takes one step to see that there is nothing to drop.
    others: Option<Arc<[View<'v>]>>,
}

/// The facts of a request, and the rules of ours that they match.
#[derive(Debug, Default)]
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
    /// Which of the check's descriptors, or of its attributes if it has no descriptors.
    pub descriptor: u16,
    /// The rule; `None` if the descriptor brought its own limit.
    pub rule: Option<u32>,
}

/// Finds what a check matches in a domain.
pub fn find<'v>(check: &Check<'v>, domain: &'v Domain) -> Result<Matches<'v>, Malformed> {
    let mut matches = Matches::default();
    find_into(check, domain, &mut matches)?;
    Ok(matches)
}

/// The same into matches that are empty yet.
pub(crate) fn find_into<'v>(
    check: &Check<'v>,
    domain: &'v Domain,
    matches: &mut Matches<'v>,
) -> Result<(), Malformed> {
    tell_pairs(&mut matches.views.first.facts, domain, check.attributes);
    if !check.descriptors.is_empty() {
        find_by_descriptors(check, domain, matches)?;
    } else if !domain.tree.is_empty() {
        find_by_attributes(check, domain, &mut matches.tree);
    }
    look_up(&mut matches.views.first, domain)
}

/// What descriptors say besides: more facts, other views if they disagree, and the rules of the tree.
#[inline(never)]
fn find_by_descriptors<'v>(
    check: &Check<'v>,
    domain: &'v Domain,
    matches: &mut Matches<'v>,
) -> Result<(), Malformed> {
    let Matches { views: Views { first, others }, tree } = matches;
    tell_entries(&mut first.facts, check, domain);
    if domain.is_tree_only() && domain.identities.is_empty() {
        find_in_tree(check, domain, tree);
        return Ok(());
    }
    let mut contradicting_views = Vec::new();
    for descriptor in contradicting(check, domain, &first.facts) {
        let mut other = View { descriptor: Some(descriptor), ..View::default() };
        tell_pairs(&mut other.facts, domain, check.descriptors[usize::from(descriptor)].entries);
        tell_pairs(&mut other.facts, domain, check.attributes);
        tell_entries(&mut other.facts, check, domain);
        look_up(&mut other, domain)?;
        contradicting_views.push(other);
    }
    if !contradicting_views.is_empty() {
        *others = Some(contradicting_views.into());
    }
    find_in_tree(check, domain, tree);
    Ok(())
}

impl<'v> Views<'v> {
    /// The first, as of a slice; there always is one.
    pub fn first(&self) -> Option<&View<'v>> {
        Some(&self.first)
    }

    /// The one at that place.
    pub fn get(&self, place: usize) -> Option<&View<'v>> {
        if place == 0 { Some(&self.first) } else { self.others.as_ref()?.get(place - 1) }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &View<'v>> {
        std::iter::once(&self.first).chain(self.others.iter().flat_map(|others| others.iter()))
    }

    /// Whether descriptors disagree.
    pub(crate) fn are_several(&self) -> bool {
        self.others.is_some()
    }
}

/// The number of an attribute; an address that Envoy names in its own way is the address, and headers have no case.
#[inline]
pub(crate) fn attribute(domain: &Domain, name: &str) -> Option<AttributeId> {
    match domain.names.get_short(name) {
        Some(attribute) => Some(attribute),
        None => otherwise_named(domain, name),
    }
}

#[cold]
fn otherwise_named(domain: &Domain, name: &str) -> Option<AttributeId> {
    domain.names.get_long(name).or_else(|| match name {
        "remote_address" => domain.names.get("ip"),
        _ if is_header(name) => domain.names.get(&name.to_ascii_lowercase()),
        _ => None,
    })
}

/// Whether a caller's name means the attribute that rules know by another.
pub(crate) fn names(said: &str, known: &str) -> bool {
    said == known
        || (said == "remote_address" && known == "ip")
        || (is_header(said) && said.eq_ignore_ascii_case(known))
}

fn is_header(name: &str) -> bool {
    let begins = name.get(..7).is_some_and(|begins| begins.eq_ignore_ascii_case("header."));
    begins && name.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// A path without its query, so that no question mark leads around a rule; all else as it was said.
#[inline]
fn meant<'v>(domain: &Domain, attribute: AttributeId, value: &'v str) -> &'v str {
    if domain.path.is(attribute) && has_query(value) { before_query(value) } else { value }
}

#[inline(never)]
fn has_query(path: &str) -> bool {
    memchr2(b'?', b'#', path.as_bytes()).is_some()
}

#[cold]
fn before_query(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or(path)
}

/// All entries of descriptors. They come behind the attributes: the first word counts.
fn tell_entries<'v>(facts: &mut Facts<'v>, check: &Check<'v>, domain: &Domain) {
    for descriptor in check.descriptors {
        tell_pairs(facts, domain, descriptor.entries);
    }
}

fn tell_pairs<'v>(facts: &mut Facts<'v>, domain: &Domain, pairs: &[(&'v str, &'v str)]) {
    let mut rest = pairs;
    while let [(name, value), others @ ..] = rest {
        rest = others;
        match domain.names.get_short(name) {
            Some(attribute) if !(domain.path.is(attribute) && has_query(value)) => {
                facts.set_first(attribute, value);
            }
            _ => tell_unusual(facts, domain, (name, value)),
        }
    }
}

/// A path with a query, or a name that is not found in a few steps.
#[inline(never)]
fn tell_unusual<'v>(facts: &mut Facts<'v>, domain: &Domain, (name, value): (&str, &'v str)) {
    let Some(attribute) = attribute(domain, name) else { return };
    let meant = meant(domain, attribute, value);
    facts.set_first(attribute, meant);
    if meant.len() < value.len() {
        tell_query(facts, domain, value);
    }
}

/// What rules ask of the query, from the path that came with it. Values are compared as they were sent.
fn tell_query<'v>(facts: &mut Facts<'v>, domain: &Domain, path: &'v str) {
    if domain.query.is_empty() {
        return;
    }
    let query = path.split('#').next().and_then(|path| path.split_once('?')).map_or("", |(_, query)| query);
    for (name, value) in query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))) {
        let asked = domain.query.iter().find(|(asked, _)| **asked == *name);
        if let Some((_, attribute)) = asked {
            facts.set_first(*attribute, value);
        }
    }
}

/// The descriptors with an entry that says something else than the first word on it.
fn contradicting(check: &Check<'_>, domain: &Domain, first: &Facts<'_>) -> SmallVec<[u16; 4]> {
    if check.descriptors.len() < 2 {
        return SmallVec::new();
    }
    let differs = |(name, value): &(&str, &str)| {
        let Some(attribute) = attribute(domain, name) else { return false };
        first.get(attribute).is_some_and(|known| known != meant(domain, attribute, value))
    };
    let descriptors = (0_u16..).zip(check.descriptors);
    descriptors
        .filter(|(_, descriptor)| descriptor.entries.iter().any(differs))
        .map(|(place, _)| place)
        .collect()
}

fn look_up<'v>(view: &mut View<'v>, domain: &'v Domain) -> Result<(), Malformed> {
    if !domain.identities.is_empty() {
        derive(&mut view.facts, domain)?;
    }
    domain.matcher.matches(&view.facts, &mut view.rules);
    Ok(())
}

/// Adds what follows from what is known. What the caller claims must not contradict it.
#[inline(never)]
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

/// The tenant of a check, if its domain has one and the check names it without contradicting itself.
#[cold]
pub(crate) fn tenant<'v>(check: &Check<'v>, domain: &'v Domain) -> Option<&'v str> {
    let (tenant, mut facts) = (domain.tenant?, Facts::default());
    tell_pairs(&mut facts, domain, check.attributes);
    tell_entries(&mut facts, check, domain);
    derive(&mut facts, domain).ok()?;
    facts.get(tenant)
}

/// An attribute stands for a descriptor of one entry where nothing can follow it in the tree, so that only one descriptor
/// can be meant.
#[inline(never)]
fn find_by_attributes(check: &Check<'_>, domain: &Domain, found: &mut SmallVec<[TreeMatch; 4]>) {
    for (place, (name, value)) in (0_u16..).zip(check.attributes) {
        if let Some(rule) = domain.tree.find_leaf(name, value) {
            found.push(TreeMatch { descriptor: place, rule: Some(rule) });
        }
    }
}

/// A limit that came with a descriptor goes before the tree.
fn find_in_tree(check: &Check<'_>, domain: &Domain, found: &mut SmallVec<[TreeMatch; 4]>) {
    for (place, descriptor) in (0_u16..).zip(check.descriptors) {
        if descriptor.limit.is_some() {
            found.push(TreeMatch { descriptor: place, rule: None });
        } else if let Some(rule) = domain.tree.find(descriptor.entries.iter().copied()) {
            found.push(TreeMatch { descriptor: place, rule: Some(rule) });
        }
    }
}
