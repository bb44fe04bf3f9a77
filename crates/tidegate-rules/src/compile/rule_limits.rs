//! The limits of a rule: its own, those of tiers, and its gate.

use tidegate_core::{Algorithm, Limit, MAX_CHARGES, Window};

use crate::diagnostic::Diagnostic;
use crate::name::AttributeId;
use crate::reference::RULE;
use crate::rule::{Action, Class, Limits, RuleLimit, TierClasses};
use crate::shape::head;
use crate::yaml::{Key, Node, Value};
use crate::{limits, notation};

use super::domain::Builder;
use super::rules::Written;

impl Written<'_> {
    pub(super) fn limits(&self, builder: &mut Builder<'_>, rule: &str, action: Action) -> Limits {
        let takes_none = matches!(action, Action::Block | Action::Bypass | Action::Unlimited);
        for key in ["limit", "limits", "tiers", "block_for"].into_iter().filter(|_| takes_none) {
            if let Some(node) = self.rule.get(key) {
                let message = format!("`action: {}` takes no `{key}`", action.word());
                self.say(
                    builder,
                    Diagnostic::error("action", head(node), message).help("remove one of them"),
                );
            }
        }
        let given = |key: &str| self.rule.get(key).filter(|node| node.value != Value::Null);
        let (one, several) = (given("limit"), given("limits"));
        if let (Some(_), Some(several)) = (one, several) {
            let said = Diagnostic::error("limit", head(several), "the rule has both `limit` and `limits`");
            self.say(builder, said.help("put all of them into `limits`"));
        }
        let nodes = one.into_iter().chain(several.map(Node::items).unwrap_or_default());
        let own = self.list(builder, rule, action, &nodes.collect::<Vec<_>>());
        let mut tiers = Vec::new();
        for (tier, node) in self.rule.get("tiers").map(Node::entries).unwrap_or_default() {
            let nodes: Vec<&Node> = node.items().iter().collect();
            if nodes.is_empty() {
                let said = Diagnostic::error(
                    "no-limit",
                    tier.span,
                    format!("the tier `{}` has no limit", tier.name),
                );
                self.say(builder, said.help("write one, or leave the tier out"));
            }
            tiers.push((tier.name.as_str().into(), self.list(builder, rule, action, &nodes)));
        }
        let misspelt = |key: &str| crate::diagnostic::nearest(key, ["limit", "limits"]).is_some();
        let misspelt =
            self.rule.entries().iter().any(|(key, _)| RULE.field(&key.name).is_none() && misspelt(&key.name));
        let none = one.is_none() && several.is_none_or(|several| several.items().is_empty());
        if !takes_none && none && !misspelt {
            let missing =
                Diagnostic::error("no-limit", head(self.rule), format!("the rule `{rule}` has no limit"));
            self.say(
                builder,
                missing.help("write `limit: 100/min`, or `action: block`, `bypass` or `unlimited`"),
            );
        }
        let tier_by = if tiers.is_empty() { None } else { self.tier_by(builder) };
        Limits { own, tiers, tier_by }
    }

    /// The attribute that names the tier.
    fn tier_by(&self, builder: &mut Builder<'_>) -> Option<AttributeId> {
        let at = self.get("tier_by").map_or_else(|| head(self.rule), |node| node.span);
        builder.attribute(self.file, &self.text("tier_by").unwrap_or_else(|| "plan".into()), at)
    }

    /// The class of requests without one of their tier.
    pub(super) fn class(&self) -> Class {
        let word = match self.get("class") {
            Some(node) if matches!(node.value, Value::Map(_)) => node.get("default").and_then(Node::text),
            node => node.and_then(Node::text),
        };
        word.and_then(|word| Class::from_word(&word)).unwrap_or_default()
    }

    /// Classes by tier, if `class` is a map.
    pub(super) fn tier_classes(&self, builder: &mut Builder<'_>) -> Option<TierClasses> {
        let node = self.get("class").filter(|node| matches!(node.value, Value::Map(_)))?;
        let of_tiers = node.entries().iter().filter(|(tier, _)| tier.name != "default");
        let class =
            |(tier, word): &(Key, Node)| Some((tier.name.as_str().into(), Class::from_word(&word.text()?)?));
        let classes = of_tiers.filter_map(class).collect();
        Some(TierClasses { tier_by: self.tier_by(builder)?, classes })
    }

    fn list(&self, builder: &mut Builder<'_>, rule: &str, action: Action, nodes: &[&Node]) -> Vec<RuleLimit> {
        let mut made: Vec<RuleLimit> = Vec::new();
        for node in nodes.iter().filter(|node| !matches!(node.value, Value::List(_) | Value::Null)) {
            let before = builder.files[self.file].diagnostics.count(crate::Severity::Error);
            let limit = match limits::read(node, rule, action == Action::Delay) {
                Ok(limit) => limit,
                Err(diagnostic) => {
                    // A table has said already what is wrong with the form of a long one.
                    if before == 0
                        || !matches!(node.value, Value::Map(_))
                        || diagnostic.message != "this is no limit"
                    {
                        self.say(builder, diagnostic);
                    }
                    continue;
                }
            };
            if action == Action::Delay && limit.algorithm() != Algorithm::LeakyBucket {
                let said = Diagnostic::error("action", head(node), "only a rate can delay");
                self.say(builder, said.help("write a rate such as 10/s burst 20, or another action"));
            }
            let refused_count = self.get("count_refused").and_then(Node::truth) == Some(true);
            if limit.algorithm() == Algorithm::Concurrency && refused_count {
                let said = Diagnostic::error("limit", head(node), "a refused request holds no slot");
                self.say(
                    builder,
                    said.help("remove `count_refused`, or put the slots into a rule of their own"),
                );
            }
            if made.iter().any(|other| other.identity == limit.identity) {
                let said = Diagnostic::error(
                    "limit",
                    head(node),
                    "another limit of this rule has the same algorithm and window",
                );
                self.say(builder, said.help("keep one of them, or give this one a `name` in the long form"));
            }
            made.push(limit);
        }
        if made.len() > MAX_CHARGES
            && let Some(node) = nodes.get(MAX_CHARGES)
        {
            let message = format!("a request can meet {MAX_CHARGES} limits at most, and these are more");
            let said = Diagnostic::error("too-many-limits", head(node), message);
            self.say(builder, said.help("keep those that matter; a few windows are enough"));
        }
        if made.len() > 1 {
            for limit in &mut made {
                let window =
                    || limit.identity.rsplit_once('/').map_or(&*limit.identity, |(_, window)| window);
                let own = limit.name.as_deref().unwrap_or_else(window);
                limit.policy = format!("{rule}:{own}").into();
            }
        }
        made
    }

    pub(super) fn block_for(&self, builder: &mut Builder<'_>) -> Option<Limit> {
        let (text, at) = self.rule.text_at("block_for")?;
        let length = notation::duration(&text, at.inner_span(&text));
        let limit = length.and_then(|length| {
            Limit::fixed_window(1, Window::FirstHit(length))
                .map_err(|error| Diagnostic::error("block-for", at.span, error.to_string()))
        });
        limit.map_err(|diagnostic| self.say(builder, diagnostic)).ok()
    }
}
