//! `allow`: warnings that an operator has looked at and does not want to see again, in a rule or in a whole file.

use crate::diagnostic::{Diagnostic, Diagnostics, WARNINGS};
use crate::source::Span;
use crate::yaml::{Node, Value};

/// A code that is allowed within a stretch of the file.
struct Allowed {
    code: String,
    within: Span,
}

/// Drops the warnings that the file allows; a code that no warning has is an error.
pub(crate) fn apply(file: &Node, diagnostics: &mut Diagnostics) {
    let mut allowed = codes(file, file.span, diagnostics);
    for rule in file.get("rules").map(Node::items).unwrap_or_default() {
        allowed.extend(codes(rule, rule.span, diagnostics));
    }
    if !allowed.is_empty() {
        diagnostics.drop_warnings(|warning| allowed.iter().any(|allowed| allowed.silences(warning)));
    }
}

impl Allowed {
    fn silences(&self, warning: &Diagnostic) -> bool {
        let Span { start, end } = self.within;
        self.code == warning.code && (start..=end).contains(&warning.span.start)
    }
}

fn codes(node: &Node, within: Span, diagnostics: &mut Diagnostics) -> Vec<Allowed> {
    let mut allowed = Vec::new();
    for item in node.get("allow").map(Node::items).unwrap_or_default() {
        let Value::Text(code) = &item.value else { continue };
        if WARNINGS.contains(&code.as_str()) {
            allowed.push(Allowed { code: code.clone(), within });
        } else {
            let said =
                Diagnostic::error("unknown-warning", item.span, format!("no warning has the code `{code}`"));
            let help = "write the code that stands in the brackets of a warning, such as shared-address";
            diagnostics.push(said.did_you_mean(code, WARNINGS).help(help));
        }
    }
    allowed
}
