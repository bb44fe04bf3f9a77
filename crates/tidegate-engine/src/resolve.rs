//! What matches are charged: takes matches and the time, gives a plan; knows tiers, calendars and schedules, but no store
//! and no protocol.

mod chosen;
mod keys;

pub(crate) use chosen::takes_its_group;

use std::time::Duration;

use smallvec::SmallVec;
use tidegate_core::{Idempotency, Key, Limit, Pay, Plan, PlanError, PreparedKey, Ticket, Timestamp, Window};
use tidegate_rules::Domain;
use tidegate_rules::condition::Facts;
use tidegate_rules::home::{Home, Owner};
use tidegate_rules::rule::{Action, Cost, Mode, Numbers, Plain, Rule, RuleLimit};

use crate::check::{Check, Malformed, Override};
use crate::decision::{LimitAt, Tier, Trouble};
use crate::matching::Matches;

use chosen::{Chosen, Source};
use keys::{Addresses, Counter};

/// How long an idempotency key is remembered.
const KEEP: Duration = Duration::from_secs(24 * 60 * 60);

/// What a check is charged, and for what.
#[derive(Debug, Default)]
pub struct Resolved {
    /// What the store is asked.
    pub plan: Plan,
    /// What each charge of the plan stands for.
    pub(crate) parts: SmallVec<[Part; 4]>,
    /// A rule that decides by itself, so that nothing is asked.
    pub(crate) alone: Option<u32>,
    /// Rules that would have decided by themselves, were they not in the shadow.
    pub(crate) shadow_alone: SmallVec<[u32; 2]>,
    /// Why there is no plan although there should be one.
    pub(crate) trouble: Option<Trouble>,
}

/// What a charge stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) at: LimitAt,
    pub(crate) descriptor: Option<u16>,
    /// Whether its word counts.
    pub(crate) enforced: bool,
    /// Whether it is the gate of the limits before it.
    pub(crate) is_gate: bool,
    /// Whether it comes from what is known of the request, of which there may be several views.
    of_view: bool,
}

impl Part {
    /// Whether it is held against a descriptor alone.
    pub(crate) fn is_of_tree(&self) -> bool {
        !self.of_view
    }
}

/// Makes the plan of what a check matches.
pub fn plan<'v>(
    check: &Check<'v>,
    domain: &'v Domain,
    matches: &Matches<'v>,
    (now, ticket): (Timestamp, Ticket),
) -> Result<Resolved, Malformed> {
    let mut resolved = Resolved::default();
    resolved.plan.set_ticket(ticket);
    plan_into(check, domain, matches, (now, &mut resolved))?;
    Ok(resolved)
}

/// The same into one that has its ticket and nothing else yet.
pub(crate) fn plan_into<'v>(
    check: &Check<'v>,
    domain: &'v Domain,
    matches: &Matches<'v>,
    (now, resolved): (Timestamp, &mut Resolved),
) -> Result<(), Malformed> {
    let mut chosen = SmallVec::new();
    chosen::choose(check, domain, matches, now, &mut chosen);
    let all_decide = chosen.iter().all(|one| one.decides);
    if !all_decide && decides_alone(domain, &chosen, resolved) {
        return Ok(());
    }
    let mut writer = Writer { check, domain, matches, now, resolved };
    for one in chosen.iter().filter(|one| one.decides) {
        if one.plain { writer.charge_plain(one)? } else { writer.charge(one)? }
    }
    if !all_decide {
        for one in chosen.iter().filter(|one| !one.decides) {
            writer.resolved.plan.next_group();
            writer.charge(one)?;
        }
    }
    writer.idempotency()
}

/// Whether one of the rules decides by itself, which none does that decides by its limits.
fn decides_alone(domain: &Domain, chosen: &[Chosen], resolved: &mut Resolved) -> bool {
    for rule in chosen::alone(domain, chosen) {
        match domain.rules[rule as usize].mode {
            Mode::Enforce => resolved.alone = resolved.alone.or(Some(rule)),
            Mode::Shadow => resolved.shadow_alone.push(rule),
            Mode::Off => {}
        }
    }
    resolved.alone.is_some()
}

struct Writer<'a, 'v> {
    check: &'a Check<'v>,
    domain: &'v Domain,
    matches: &'a Matches<'v>,
    now: Timestamp,
    resolved: &'a mut Resolved,
}

impl<'a, 'v> Writer<'a, 'v> {
    /// What [`Self::charge`] does with a rule that has nothing unusual, in fewer steps.
    fn charge_plain(&mut self, chosen: &Chosen) -> Result<(), Malformed> {
        let number = chosen.rule.unwrap_or(0);
        let rule = &self.domain.rules[number as usize];
        let Some(plain) = &rule.plain else { return self.charge(chosen) };
        let facts = &self.matches.views.first.facts;
        let mut values = [&[][..]; Plain::MOST_BY];
        for (value, attribute) in values.iter_mut().zip(&plain.by) {
            let Some(text) = facts.get(*attribute) else { return Ok(()) };
            *value = text.as_bytes();
        }
        let values = values.get(..plain.by.len()).unwrap_or_default();
        let cost = self.check.cost.saturating_mul(plain.cost);
        for (place, limit) in (0_u16..).zip(&rule.limits.own) {
            let Some(numbers) = limit.plain() else { continue };
            let at = LimitAt { rule: number, tier: Tier::Own, limit: place };
            let part = Part { at, descriptor: None, enforced: true, is_gate: false, of_view: true };
            let Home { owner, front, .. } = &rule.home;
            let plan = &mut self.resolved.plan;
            if let Owner::Tenant(tenant) = owner {
                let tenant = facts.get(*tenant).map(str::as_bytes);
                let key = PreparedKey { front, home: tenant.as_slice(), back: &limit.back, own: values };
                plan.charge_prepared_when(&key, numbers, cost, Pay::IfAdmitted)?;
            } else {
                let key = PreparedKey { front, home: values, back: &limit.back, own: &[] };
                plan.charge_prepared_when(&key, numbers, cost, Pay::IfAdmitted)?;
            }
            self.resolved.parts.push(part);
        }
        Ok(())
    }

    fn charge(&mut self, chosen: &Chosen) -> Result<(), Malformed> {
        let Some(rule) = chosen.rule.and_then(|rule| self.domain.rules.get(rule as usize)) else {
            return self.bring_along(chosen);
        };
        let Some(facts) = self.facts(chosen) else { return Ok(()) };
        let mut addresses = Addresses::new();
        let mut counter = Counter::new(rule);
        if let (Source::Tree { descriptor }, Some(tree)) = (chosen.source, rule.tree.as_deref()) {
            let Some(asked) = self.check.descriptors.get(usize::from(descriptor)) else { return Ok(()) };
            counter.count_entries(rule, &tree.shared, asked);
        } else if counter.count_by(self.domain, rule, (facts, &mut addresses)).is_none() {
            return Ok(());
        }
        let (tier, limits) = tier_of(rule, facts);
        let times = self.times(chosen);
        let cost = times.saturating_mul(rule_cost(&rule.cost, facts));
        let mut charged = 0_u8;
        for (place, limit) in (0_u16..).zip(limits) {
            let at = LimitAt { rule: chosen.rule.unwrap_or(0), tier, limit: place };
            let key = counter.of(&limit.back);
            charged += u8::from(match &limit.numbers {
                Numbers::Plain(plain) => self.push(&key, (plain, cost), (chosen, rule, at))?,
                Numbers::Calendar(calendar) => {
                    self.push(&key, (&calendar.at(self.now), cost), (chosen, rule, at))?
                }
            });
        }
        match &rule.block_for {
            Some(gate) if charged > 0 && chosen.enforced => {
                let key = counter.of(&rule.home.gate);
                let at = LimitAt { rule: chosen.rule.unwrap_or(0), tier, limit: 0 };
                let part = Part { is_gate: true, ..part(chosen, at) };
                self.push_part(&key, (gate, times.min(1), Pay::IfRefused { of: charged }), part).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// A limit that came with its descriptor.
    fn bring_along(&mut self, chosen: &Chosen) -> Result<(), Malformed> {
        let Source::Tree { descriptor } = chosen.source else { return Ok(()) };
        let Some(asked) = self.check.descriptors.get(usize::from(descriptor)) else { return Ok(()) };
        let Some(Override { amount, per }) = asked.limit else { return Ok(()) };
        // None at all is one that is never enough.
        let limit = Limit::fixed_window(amount.max(1), Window::Aligned(per))
            .map_err(|error| Malformed::Override(error.to_string()))?;
        let identity = format!("fixed_window/{}", tidegate_rules::notation::show(per));
        let cost = asked.cost.unwrap_or(self.check.cost);
        let cost = if amount == 0 { cost.saturating_mul(2) } else { cost };
        let part = part(chosen, LimitAt { rule: 0, tier: Tier::Override, limit: 0 });
        keys::brought_along(self.domain, asked, &identity, |key| {
            self.push_part(&key.into(), (&limit, cost, Pay::IfAdmitted), part).map(|_| ())
        })
    }

    /// Adds the charge of a rule's limit; `false` if another view of the request has added it already.
    #[inline]
    fn push(
        &mut self,
        key: &PreparedKey<'_>,
        (limit, cost): (&Limit, u64),
        (chosen, rule, at): (&Chosen, &Rule, LimitAt),
    ) -> Result<bool, Malformed> {
        self.push_part(key, (limit, cost, pay(rule, chosen, limit)), part(chosen, at))
    }

    /// The same for any charge.
    #[inline]
    fn push_part(
        &mut self,
        key: &PreparedKey<'_>,
        (limit, cost, pay): (&Limit, u64, Pay),
        part: Part,
    ) -> Result<bool, Malformed> {
        let Resolved { plan, parts, .. } = &mut *self.resolved;
        if self.matches.views.are_several() && part.of_view && has(plan, key)? {
            return Ok(false);
        }
        plan.charge_prepared_when(key, limit, cost, pay)?;
        parts.push(part);
        Ok(true)
    }

    fn facts(&self, chosen: &Chosen) -> Option<&'a Facts<'v>> {
        let view = match chosen.source {
            Source::View { view } => usize::from(view),
            Source::Tree { .. } => 0,
        };
        self.matches.views.get(view).map(|view| &view.facts)
    }

    /// How many times its cost a rule is charged: as the check asks, or the descriptor that the rule is reported with.
    fn times(&self, chosen: &Chosen) -> u64 {
        let descriptor = chosen.descriptor.and_then(|place| self.check.descriptors.get(usize::from(place)));
        descriptor.and_then(|one| one.cost).unwrap_or(self.check.cost)
    }

    fn idempotency(&mut self) -> Result<(), Malformed> {
        let Some(name) = self.check.idempotency_key else { return Ok(()) };
        let tenant = self.domain.tenant.and_then(|tenant| self.matches.views.first.facts.get(tenant));
        let home: SmallVec<[&[u8]; 2]> =
            [Some(self.domain.name.as_bytes()), tenant.map(str::as_bytes)].into_iter().flatten().collect();
        let key =
            Key { home: &home, own: &[b"idempotency", name.as_bytes()] }.encode().map_err(PlanError::from)?;
        let keep_us = u64::try_from(KEEP.as_micros()).unwrap_or(u64::MAX);
        self.resolved.plan.set_idempotency(Idempotency {
            key,
            keep_us,
            asked: Some(self.check.fingerprint()),
        });
        Ok(())
    }
}

#[inline]
fn part(chosen: &Chosen, at: LimitAt) -> Part {
    let of_view = matches!(chosen.source, Source::View { .. });
    Part { at, descriptor: chosen.descriptor, enforced: chosen.decides, is_gate: false, of_view }
}

/// Whether a plan has a charge on that key.
#[cold]
fn has(plan: &Plan, key: &PreparedKey<'_>) -> Result<bool, Malformed> {
    let key = key.encode().map_err(PlanError::from)?;
    Ok(plan.charges().any(|charge| charge.key == key.as_ref()))
}

/// When a charge pays: as the rule says, and not at all for what is held to it without counting.
fn pay(rule: &Rule, chosen: &Chosen, limit: &Limit) -> Pay {
    let holds_slots = limit.term_us().is_some();
    if !chosen.counted {
        Pay::Never
    } else if (rule.count_refused || !chosen.enforced) && !holds_slots {
        Pay::Always
    } else {
        Pay::IfAdmitted
    }
}

#[inline]
fn tier_of<'r>(rule: &'r Rule, facts: &Facts<'_>) -> (Tier, &'r [RuleLimit]) {
    let tiers = &rule.limits.tiers;
    let tier = rule.limits.tier_by.and_then(|attribute| facts.get(attribute));
    let place = tier.and_then(|tier| tiers.iter().position(|(name, _)| **name == *tier));
    match place {
        Some(place) => (Tier::Named(u16::try_from(place).unwrap_or(u16::MAX)), &tiers[place].1),
        None => (Tier::Own, &rule.limits.own),
    }
}

fn rule_cost(cost: &Cost, facts: &Facts<'_>) -> u64 {
    match cost {
        Cost::Fixed(units) => *units,
        Cost::Attribute { attribute, default, most } => {
            let said = facts.get(*attribute).and_then(|text| text.trim().parse::<u64>().ok());
            said.map_or(*default, |units| units.min(*most))
        }
        Cost::Methods { attribute, points, default } => {
            let found =
                facts.get(*attribute).and_then(|method| points.iter().find(|(name, _)| **name == *method));
            found.map_or(*default, |(_, points)| *points)
        }
    }
}

/// Whether what happens past the limits of a rule is that the request is refused or held back.
pub(crate) fn decides(rule: &Rule) -> bool {
    rule.mode == Mode::Enforce
        && matches!(rule.action, Action::Reject | Action::Delay)
        && !rule.tree.as_ref().is_some_and(|tree| tree.quota)
}

#[cfg(test)]
mod tests;
