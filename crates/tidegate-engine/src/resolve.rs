//! What matches are charged: takes matches and the time, gives a plan; knows tiers, calendars and schedules, but no store
//! and no protocol.

mod chosen;
mod keys;

pub(crate) use chosen::takes_its_group;

use std::time::Duration;

use smallvec::SmallVec;
use tidegate_core::{
    Class, Idempotency, Key, Limit, Pay, Plan, PlanError, PreparedKey, Ticket, Timestamp, Values, Window,
};
use tidegate_rules::Domain;
use tidegate_rules::condition::Facts;
use tidegate_rules::name::AttributeId;
use tidegate_rules::rule::{Action, Cost, Mode, Numbers, Rule, RuleLimit};

use crate::check::{Charging, Check, Descriptor, Malformed, Override};
use crate::matching::{Matches, View};
use crate::meaning::{Kind, LimitAt, Meaning, Note, Part, Tier};

use chosen::{Chosen, Source};
use keys::{Addresses, Counter};

/// What is kept of a caller's time for the way to it, at least; a fifth of it if that is more.
const WAY_BACK: Duration = Duration::from_millis(2);

/// The least time that a store is given: less would be none at all.
const LEAST_PATIENCE: Duration = Duration::from_millis(1);

/// How long an idempotency key is remembered.
const KEEP: Duration = Duration::from_secs(24 * 60 * 60);

/// What a check is charged, and for what.
#[derive(Debug, Default)]
pub struct Resolved {
    /// What the store is asked.
    pub plan: Plan,
    pub(crate) meaning: Meaning,
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
    let Resolved { plan, meaning } = &mut resolved;
    plan_into(check, domain, matches, (now, plan, meaning))?;
    Ok(resolved)
}

/// The same into a plan that has its ticket and nothing else yet.
#[inline]
pub(crate) fn plan_into<'v>(
    check: &Check<'v>,
    domain: &'v Domain,
    matches: &Matches<'v>,
    (now, plan, meaning): (Timestamp, &mut Plan, &mut Meaning),
) -> Result<(), Malformed> {
    if check.descriptors.is_empty() && matches.tree.is_empty() && all_are_plain(domain, &matches.views.first)
    {
        charge_plain_rules(check, domain, &matches.views.first, (plan, meaning))?;
    } else {
        Writer { check, domain, matches, now, plan, meaning }.charge_chosen()?;
    }
    if domain.class > Class::default() {
        plan.set_class(class(meaning));
    }
    if let Some(caller) = check.patience {
        plan.set_patience(patience(caller));
    }
    match check.idempotency_key {
        Some(name) => Writer { check, domain, matches, now, plan, meaning }.idempotency(name),
        None => Ok(()),
    }
}

/// The strictest class of the limits that have a say.
fn class(meaning: &Meaning) -> Class {
    let deciding = meaning.parts.iter().filter(|part| part.enforced);
    deciding.map(|part| part.class).max().unwrap_or_default()
}

/// How long the store may take if the caller waits so long: what is decided without the store must still reach it.
fn patience(caller: Duration) -> Duration {
    caller.saturating_sub(WAY_BACK.max(caller / 5)).max(LEAST_PATIENCE)
}

/// When the class decides without the store, so that the caller hears it in time. Later than the store's own deadline,
/// which a fallback keeps to.
pub(crate) fn decide_within(caller: Duration) -> Duration {
    caller.saturating_sub((WAY_BACK / 2).max(caller / 10)).max(2 * LEAST_PATIENCE)
}

/// Whether one of the rules decides by itself, which none does that decides by its limits.
fn decides_alone(domain: &Domain, chosen: &[Chosen], meaning: &mut Meaning) -> bool {
    for rule in chosen::alone(domain, chosen) {
        match domain.rules[rule as usize].mode {
            Mode::Enforce => meaning.alone = meaning.alone.or(Some(rule)),
            Mode::Shadow => meaning.shadow_alone.push(rule),
            Mode::Off => {}
        }
    }
    meaning.alone.is_some()
}

struct Writer<'a, 'v> {
    check: &'a Check<'v>,
    domain: &'v Domain,
    matches: &'a Matches<'v>,
    now: Timestamp,
    plan: &'a mut Plan,
    meaning: &'a mut Meaning,
}

impl<'a, 'v> Writer<'a, 'v> {
    /// What is not as simple: rules are chosen first.
    #[inline(never)]
    fn charge_chosen(&mut self) -> Result<(), Malformed> {
        let mut chosen = SmallVec::new();
        chosen::choose(self.check, self.domain, self.matches, self.now, &mut chosen);
        let all_decide = chosen.iter().all(|one| one.decides);
        if !all_decide && decides_alone(self.domain, &chosen, self.meaning) {
            return Ok(());
        }
        for one in chosen.iter().filter(|one| one.decides) {
            if one.plain { self.charge_one_plain(one)? } else { self.charge(one)? }
        }
        for one in chosen.iter().filter(|one| !one.decides) {
            self.plan.next_group();
            self.charge(one)?;
        }
        Ok(())
    }

    fn charge_one_plain(&mut self, chosen: &Chosen) -> Result<(), Malformed> {
        let Self { check, domain, matches, plan, meaning, .. } = self;
        let rule = (*domain, chosen.rule.unwrap_or(0));
        charge_plain(rule, &matches.views.first.facts, check.cost, (plan, meaning))
    }

    fn charge(&mut self, chosen: &Chosen) -> Result<(), Malformed> {
        let Some(rule) = chosen.rule.and_then(|rule| self.domain.rules.get(rule as usize)) else {
            return self.bring_along(chosen);
        };
        let Some(facts) = self.facts(chosen) else { return Ok(()) };
        let mut addresses = Addresses::new();
        let mut counter = Counter::new(rule);
        if let (Source::Tree { descriptor }, Some(tree)) = (chosen.source, rule.tree.as_deref()) {
            let Some(asked) = self.check.descriptor(descriptor) else { return Ok(()) };
            counter.count_entries(rule, &tree.shared, &asked);
        } else if counter.count_by(self.domain, rule, (facts, &mut addresses)).is_none() {
            self.meaning.note(chosen.rule, Note::KeyAbsent);
            return Ok(());
        }
        counter.live_with_tier(self.domain, facts);
        let (tier, limits) = tier_of(rule, facts);
        let class = rule.class_of(facts);
        let times = self.times(chosen);
        let units = self.units(rule, (class, chosen), facts)?;
        let cost = times.saturating_mul(units);
        let mut charged = 0_u8;
        for (place, limit) in (0_u16..).zip(limits) {
            let at = LimitAt { rule: chosen.rule.unwrap_or(0), tier, limit: place };
            let key = counter.of(&limit.back);
            let calendar;
            let numbers = match &limit.numbers {
                Numbers::Plain(plain) => plain,
                Numbers::Calendar(bounds) => {
                    calendar = bounds.at(self.now);
                    &calendar
                }
            };
            let mut part = Part { class, ..part(chosen, at, (numbers, cost)) };
            if limit.admits_nothing() {
                part.kind = Kind::ZeroLimit;
            }
            charged += u8::from(self.push_part(&key, (numbers, self.pay(rule, chosen, numbers)), part)?);
        }
        match &rule.block_for {
            Some(gate) if charged > 0 && chosen.enforced => {
                let key = counter.of(&rule.home.gate);
                let at = LimitAt { rule: chosen.rule.unwrap_or(0), tier, limit: 0 };
                let cost = times.min(1);
                self.meaning.has_gates = true;
                let part = Part { kind: Kind::Gate, class, ..part(chosen, at, (gate, cost)) };
                self.push_part(&key, (gate, Pay::IfRefused { of: charged }), part).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// A limit that came with its descriptor.
    fn bring_along(&mut self, chosen: &Chosen) -> Result<(), Malformed> {
        let Source::Tree { descriptor } = chosen.source else { return Ok(()) };
        let Some(asked) = self.check.descriptors.get(usize::from(descriptor)) else { return Ok(()) };
        let Some(Override { amount, per }) = asked.limit else { return Ok(()) };
        // Core has no window of 0 units: a charge of twice its cost never fits into one of 1.
        let limit = Limit::fixed_window(amount.max(1), Window::Aligned(per))
            .map_err(|error| Malformed::Override(error.to_string()))?;
        let identity = format!("fixed_window/{}", tidegate_rules::notation::show(per));
        let cost = asked.cost.unwrap_or(self.check.cost);
        let at = LimitAt { rule: 0, tier: Tier::Override, limit: 0 };
        let mut part = part(chosen, at, (&limit, cost));
        if amount == 0 {
            part.kind = Kind::ZeroLimit;
        }
        let pay = if asked.charging == Charging::Late { Pay::Always } else { Pay::IfAdmitted };
        let facts = &self.matches.views.first.facts;
        keys::brought_along((self.domain, facts), asked, &identity, |key| {
            self.push_part(&key.into(), (&limit, pay), part).map(|_| ())
        })
    }

    /// Adds a charge; `false` if another view of the request has added it already. A limit that no rule has in this form
    /// is kept with the meaning.
    #[inline]
    fn push_part(
        &mut self,
        key: &PreparedKey<'_>,
        (limit, pay): (&Limit, Pay),
        mut part: Part,
    ) -> Result<bool, Malformed> {
        if self.matches.views.are_several() && part.of_view && has(self.plan, key)? {
            return Ok(false);
        }
        if part.is_of_tree() {
            self.push_of_tree(key, (limit, pay), &mut part)?;
        } else {
            self.plan.charge_when(*key, *limit, part.cost, pay)?;
        }
        if !part.is_gate() && (limit.is_calendar() || part.at.tier == Tier::Override) {
            part.made = u16::try_from(self.meaning.made.len()).ok();
            self.meaning.made.push(*limit);
        }
        self.meaning.parts.push(part);
        Ok(true)
    }

    /// Adds a charge of a descriptor tree. A request may name the same entries twice, with other amounts: then the smaller
    /// amount holds for both, and settling says how each stands under its own.
    fn push_of_tree(
        &mut self,
        key: &PreparedKey<'_>,
        (limit, mut pay): (&Limit, Pay),
        part: &mut Part,
    ) -> Result<(), Malformed> {
        self.meaning.has_tree = true;
        let mut limit = *limit;
        if self.check.descriptors.len() > 1 {
            let key = key.encode().map_err(PlanError::from)?;
            let group = self.plan.group();
            if let Some(other) = self.plan.find(key.as_ref()) {
                let is_beside = other.group == group;
                let (held_to, others_pay) = (*other.limit, other.pay);
                if !is_beside || held_to.capacity() < limit.capacity() {
                    limit = held_to;
                }
                if is_beside {
                    pay = if others_pay == Pay::Always { others_pay } else { pay };
                    self.plan.replace(key.as_ref(), limit, pay);
                }
            }
        }
        let is_peek = part.descriptor.is_some_and(|place| self.is_peek(place));
        let cost = match part.kind {
            _ if is_peek => 0,
            Kind::ZeroLimit => part.cost.saturating_mul(2),
            _ => part.cost,
        };
        if is_peek {
            part.cost = 0;
            if part.kind != Kind::ZeroLimit {
                part.kind = Kind::Peek;
            }
        }
        self.plan.charge_when(*key, limit, cost, pay).map_err(Malformed::from)
    }

    fn is_peek(&self, descriptor: u16) -> bool {
        self.descriptor(Some(descriptor)).is_some_and(|one| one.charging == Charging::Peek)
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
        self.descriptor(chosen.descriptor).and_then(|one| one.cost).unwrap_or(self.check.cost)
    }

    fn descriptor(&self, place: Option<u16>) -> Option<&'a Descriptor<'v>> {
        self.check.descriptors.get(usize::from(place?))
    }

    /// The units of one request. A cost that cannot be read makes the check malformed where the class of the rule refuses
    /// what cannot be counted; elsewhere the rule's default is charged, and counted as a mistake.
    fn units(
        &mut self,
        rule: &Rule,
        (class, chosen): (Class, &Chosen),
        facts: &Facts<'_>,
    ) -> Result<u64, Malformed> {
        match units(&rule.cost, facts) {
            Ok(units) => Ok(units),
            Err(Unreadable { attribute, .. }) if class.is_exact() && chosen.decides => {
                Err(Malformed::UnreadableCost { attribute: self.domain.names.name(attribute).to_owned() })
            }
            Err(Unreadable { default, .. }) => {
                self.meaning.note(chosen.rule, Note::UnreadableCost);
                Ok(default)
            }
        }
    }

    /// When a charge pays. Requests that a rule does not count (`count`) are judged and never charged.
    fn pay(&self, rule: &Rule, chosen: &Chosen, limit: &Limit) -> Pay {
        let holds_slots = limit.term_us().is_some();
        let is_of_tree = matches!(chosen.source, Source::Tree { .. });
        let is_late = || self.descriptor(chosen.descriptor).is_some_and(|one| one.charging == Charging::Late);
        if !chosen.counted {
            Pay::Never
        } else if (rule.count_refused || !chosen.enforced || (is_of_tree && is_late())) && !holds_slots {
            Pay::Always
        } else {
            Pay::IfAdmitted
        }
    }

    #[cold]
    fn idempotency(&mut self, name: &str) -> Result<(), Malformed> {
        let facts = &self.matches.views.first.facts;
        let tenant = self.domain.tenant.and_then(|tenant| facts.get(tenant));
        let home = keys::tenants_home(self.domain, facts, tenant);
        let key =
            Key { home: &home, own: &[b"idempotency", name.as_bytes()] }.encode().map_err(PlanError::from)?;
        let keep_us = u64::try_from(KEEP.as_micros()).unwrap_or(u64::MAX);
        self.plan.set_idempotency(Idempotency { key, keep_us, asked: Some(self.check.fingerprint()) });
        Ok(())
    }
}

fn all_are_plain(domain: &Domain, view: &View<'_>) -> bool {
    domain.is_plain || view.rules.iter().all(|number| domain.rules[*number as usize].plain.is_some())
}

/// What [`Writer::charge_chosen`] does if all rules are plain, and nothing is said about descriptors or other views.
#[inline(never)]
fn charge_plain_rules(
    check: &Check<'_>,
    domain: &Domain,
    view: &View<'_>,
    (plan, meaning): (&mut Plan, &mut Meaning),
) -> Result<(), Malformed> {
    for number in &view.rules {
        charge_plain((domain, *number), &view.facts, check.cost, (plan, meaning))?;
    }
    Ok(())
}

/// What [`Writer::charge`] does, in fewer steps, with a rule that has nothing unusual.
#[inline(always)]
#[expect(clippy::inline_always, reason = "most checks do little else, and rules that are not plain are rare")]
fn charge_plain(
    (domain, number): (&Domain, u32),
    facts: &Facts<'_>,
    times: u64,
    (plan, meaning): (&mut Plan, &mut Meaning),
) -> Result<(), Malformed> {
    let rule = &domain.rules[number as usize];
    let Some(plain) = &rule.plain else { return Ok(()) };
    let value = plain.by.and_then(|by| facts.get(by)).map(str::as_bytes);
    if value.is_none() && plain.by.is_some() {
        meaning.note(Some(number), Note::KeyAbsent);
        return Ok(());
    }
    let values = match plain.tenant {
        Some(tenant) => Values { home: facts.get(tenant).map(str::as_bytes), own: value },
        None => Values { home: value, own: None },
    };
    let cost = times.saturating_mul(plain.cost);
    for (limit, charge) in (0_u16..).zip(&plain.charges) {
        plan.charge_prepared(charge, &values, cost)?;
        let at = LimitAt { rule: number, tier: Tier::Own, limit };
        let (kind, made, descriptor) = (Kind::of(&charge.limit, cost), None, None);
        let class = rule.class;
        meaning.parts.push(Part { at, made, descriptor, cost, kind, class, enforced: true, of_view: true });
    }
    Ok(())
}

#[inline]
fn part(chosen: &Chosen, at: LimitAt, (limit, cost): (&Limit, u64)) -> Part {
    let (kind, of_view) = (Kind::of(limit, cost), matches!(chosen.source, Source::View { .. }));
    let (descriptor, enforced, class) = (chosen.descriptor, chosen.decides, Class::default());
    Part { at, made: None, descriptor, cost, kind, class, enforced, of_view }
}

/// Whether a plan has a charge on that key.
#[cold]
fn has(plan: &Plan, key: &PreparedKey<'_>) -> Result<bool, Malformed> {
    let key = key.encode().map_err(PlanError::from)?;
    Ok(plan.charges().any(|charge| charge.key == key.as_ref()))
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

/// A cost that is no whole number.
struct Unreadable {
    attribute: AttributeId,
    default: u64,
}

/// Units that one request takes.
fn units(cost: &Cost, facts: &Facts<'_>) -> Result<u64, Unreadable> {
    match cost {
        Cost::Fixed(units) => Ok(*units),
        Cost::Attribute { attribute, default, most } => match facts.get(*attribute) {
            Some(text) => {
                let unreadable = Unreadable { attribute: *attribute, default: *default };
                measured(text, *most).ok_or(unreadable)
            }
            None => Ok(*default),
        },
        Cost::Methods { attribute, points, default } => {
            let found =
                facts.get(*attribute).and_then(|method| points.iter().find(|(name, _)| **name == *method));
            Ok(found.map_or(*default, |(_, points)| *points))
        }
    }
}

/// The number of an attribute that holds a cost, within the rule's bound; `None` if it is no whole number. Some languages
/// write whole numbers with a fraction of 0.
pub(crate) fn measured(text: &str, most: u64) -> Option<u64> {
    let (digits, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
    let is_whole = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let has_fraction = fraction.is_empty() || fraction.bytes().any(|digit| digit != b'0');
    (is_whole && !has_fraction).then(|| digits.parse().unwrap_or(u64::MAX).min(most))
}

/// Whether what happens past the limits of a rule is that the request is refused or held back.
pub(crate) fn decides(rule: &Rule) -> bool {
    rule.mode == Mode::Enforce
        && matches!(rule.action, Action::Reject | Action::Delay)
        && !rule.tree.as_ref().is_some_and(|tree| tree.quota)
}

#[cfg(test)]
mod tests;
