//! `by`: the attributes and captures that a rule counts by.

use std::sync::Arc;

use crate::conditions::{Named, canonical};
use crate::diagnostic::Diagnostic;
use crate::rule::By;
use crate::yaml::Node;

use super::domain::Builder;
use super::rules::Written;

impl Written<'_> {
    pub(super) fn by(&self, builder: &mut Builder<'_>, captures: &Named) -> Vec<By> {
        let items = self.rule.get("by").map(Node::items).unwrap_or_default();
        items.iter().filter_map(|item| self.by_item(builder, captures, item)).collect()
    }

    fn by_item(&self, builder: &mut Builder<'_>, captures: &Named, item: &Node) -> Option<By> {
        let text = item.text()?;
        let name = text.trim_start_matches('{').trim_end_matches('}');
        if let Some(sources) = captures.of(name) {
            if !sources.always {
                self.say(builder, partial(name, item));
            }
            return Some(By::Capture { name: name.into(), sources: Arc::clone(&sources.all) });
        }
        if captures.is_under_not(name) {
            let message = format!("`{{{name}}}` stands under `not`, which captures nothing");
            let said = Diagnostic::error("capture", item.span, message);
            self.say(builder, said.help("capture it in a glob that has to match"));
            return None;
        }
        if name != text {
            let said = Diagnostic::error("capture", item.span, format!("`match` captures no `{text}`"));
            let said = said.did_you_mean(name, captures.names());
            self.say(builder, said.help("capture it in a path such as /v1/intents/{id}"));
            return None;
        }
        let parts: Vec<&str> = name.split([',', '+', ' ']).filter(|part| !part.is_empty()).collect();
        if parts.len() > 1 {
            let said =
                Diagnostic::error("attribute", item.span, format!("`{text}` is no name of an attribute"));
            self.say(builder, said.help(format!("write by: [{}]", parts.join(", "))));
            return None;
        }
        let attribute = builder.attribute(self.file, name, item.span)?;
        Some(if canonical(name) == "ip" { By::Address(attribute) } else { By::Attribute(attribute) })
    }
}

fn partial(name: &str, item: &Node) -> Diagnostic {
    let message =
        format!("some requests match without capturing `{name}`: they are not limited by this rule");
    Diagnostic::warning("partial-capture", item.span, message)
        .help(format!("capture `{{{name}}}` in each alternative, or give these requests a rule of their own"))
}
