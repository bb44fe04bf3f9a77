//! Who asks for what: rules of every class, and the callers that each connection speaks for, step by step.

use std::fmt::Write as _;

/// What callers of one kind may do in a day.
pub(super) const LIMIT: usize = 30;

/// The classes of rules.
pub(super) const CLASSES: [&str; 4] = ["comfort", "cost", "security", "strict"];

/// Steps in which a caller is new.
const GENERATION: usize = 40;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Caller {
    /// Asks for twice what it may in a short while, and comes back now and then.
    Greedy(usize),
    /// Asks for a fifth of what it may.
    Modest(usize),
    /// Asks all the time, for an eighth of the rate that it may.
    Steady,
}

impl Caller {
    /// Who asks in a step: new callers half of the time, earlier ones a quarter, honest ones the rest.
    pub(super) fn at(step: usize) -> Self {
        let newest = step / GENERATION;
        match step % 8 {
            0 | 1 | 4 | 5 => Self::Greedy(newest),
            2 | 6 => Self::Greedy(step / 4 % (newest + 1)),
            3 => Self::Modest(step / 16),
            _ => Self::Steady,
        }
    }

    /// Whether it keeps far below its limit.
    pub(super) fn is_honest(self) -> bool {
        !matches!(self, Self::Greedy(_))
    }

    /// Its key.
    pub(super) fn key(self, series: &str) -> String {
        match self {
            Self::Greedy(number) => format!("{series}-greedy-{number}"),
            Self::Modest(number) => format!("{series}-modest-{number}"),
            Self::Steady => format!("{series}-steady"),
        }
    }

    /// Whose key that is; there are four of them.
    pub(super) fn org(self, series: &str) -> String {
        match self {
            Self::Greedy(number) | Self::Modest(number) => format!("{series}-org-{}", number % 4),
            Self::Steady => format!("{series}-org"),
        }
    }

    /// The plan that it has.
    pub(super) fn plan(self, class: &str) -> String {
        if self == Self::Steady { format!("{class}-rate") } else { class.to_owned() }
    }
}

/// Two rules for each class: so many a day, and so many a second. Of two classes, what a key may is counted for its organisation as
/// well, which on a Cluster lives somewhere else.
pub(super) fn rules() -> String {
    let mut rules = "domain: api\nrules:\n".to_owned();
    for class in CLASSES {
        let rule = |name: &str, limit: &str| {
            let matches = format!("match: {{ plan: {name} }}, by: [api_key]");
            format!("  - {{ name: {name}, {matches}, limit: {limit}, class: {class} }}\n")
        };
        let rate = rule(&format!("{class}-rate"), "200/s");
        write!(rules, "{}{rate}", rule(class, &format!("{LIMIT}/d"))).unwrap();
    }
    for class in ["cost", "strict"] {
        let matches = format!("match: {{ plan: {class} }}, by: [org]");
        writeln!(rules, "  - {{ name: {class}-org, {matches}, limit: 100000/d, class: {class} }}").unwrap();
    }
    rules
}
