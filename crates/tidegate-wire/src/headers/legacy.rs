//! The `X-RateLimit-*` fields: what services said before there was a draft, and who refused.

use sfv::{ItemSerializer, KeyRef, RefBareItem, StringRef, TokenRef, key_ref};

use super::lines::HeaderLines;
use super::summary::Summary;
use super::{Legacy, Settings, names, seconds_up};

const RULE: &KeyRef = key_ref("rule");

pub(super) fn write_legacy(out: &mut HeaderLines, summary: &Summary<'_>, settings: Settings) {
    let Some(most) = summary.most_restrictive() else { return };
    let reset_s = match settings.legacy {
        Legacy::Off => return,
        Legacy::Epoch => seconds_up(summary.now().plus_us(most.more_after_us()).as_micros()),
        Legacy::Delta => seconds_up(most.more_after_us()),
    };
    out.number(names::X_RATELIMIT_LIMIT, most.verdict.limit);
    out.number(names::X_RATELIMIT_REMAINING, most.verdict.remaining);
    out.number(names::X_RATELIMIT_RESET, reset_s);
    if settings.used {
        out.number(names::X_RATELIMIT_USED, most.used());
    }
    if let Some(resource) = most.resource.filter(|_| settings.resource) {
        out.text(names::X_RATELIMIT_RESOURCE, resource);
    }
}

impl HeaderLines {
    /// Adds `X-RateLimit-Denied-By`, unless no structured field can hold the names.
    pub fn denied_by(&mut self, dimension: &str, rule: &str) {
        if let Some(value) = denied_by(dimension, rule) {
            self.text(names::X_RATELIMIT_DENIED_BY, &value);
        }
    }
}

/// The value of `X-RateLimit-Denied-By`: the name of what the rule counts by, then the rule. `None` if no structured
/// field can hold them (beyond printable ASCII).
///
/// The dimension is a token, or a string where it has characters that a token cannot have.
///
/// ```
/// use tidegate_wire::headers::denied_by;
/// assert_eq!(denied_by("user", "per-user").unwrap(), r#"user;rule="per-user""#);
/// assert_eq!(denied_by("user, path", "both").unwrap(), r#""user, path";rule="both""#);
/// ```
pub fn denied_by(dimension: &str, rule: &str) -> Option<String> {
    let rule = StringRef::from_str(rule).ok()?;
    let dimension: RefBareItem<'_> = match TokenRef::from_str(dimension) {
        Ok(token) => token.into(),
        Err(_) => StringRef::from_str(dimension).ok()?.into(),
    };
    Some(ItemSerializer::new().bare_item(dimension).parameter(RULE, rule).finish())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sfv::{BareItem, Item, Parser};

    use super::super::lines::is_printable;
    use super::*;

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![3 => "[a-z_.:/-]{0,20}", 3 => "[ -~]{0,20}", 1 => any::<String>()]
    }

    proptest! {
        #[test]
        fn who_denied_is_a_structured_item_that_says_the_same(dimension in any_text(), rule in any_text()) {
            let Some(value) = denied_by(&dimension, &rule) else {
                prop_assert!(!is_printable(&dimension) || !is_printable(&rule));
                return Ok(());
            };
            let item: Item = Parser::new(value.as_bytes()).parse().unwrap();
            let told = match &item.bare_item {
                BareItem::Token(token) => token.as_str(),
                BareItem::String(string) => string.as_str(),
                other => panic!("neither token nor string: {other:?}"),
            };
            prop_assert_eq!(told, dimension);
            prop_assert_eq!(item.params.len(), 1);
            prop_assert_eq!(item.params[RULE].as_string().map(sfv::StringRef::as_str), Some(rule.as_str()));
        }
    }
}
