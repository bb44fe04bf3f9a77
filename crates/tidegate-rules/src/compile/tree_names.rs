//! Names for the rules of a descriptor tree: unlike those of all other rules, because metrics are counted by name, and
//! without secrets.

use std::collections::{HashMap, HashSet};

use crate::words::is_secret;

use super::rules::Draft;

/// The names that are given, and how many secrets stand under each key of a level.
#[derive(Default)]
pub(super) struct TreeNames {
    taken: HashSet<String>,
    secrets: HashMap<(usize, String), usize>,
}

impl TreeNames {
    /// Beside these rules.
    pub(super) fn beside(drafts: &[Draft]) -> Self {
        let names = drafts.iter().flat_map(|draft| [&draft.rule.name, &draft.rule.identity]);
        Self { taken: names.map(ToString::to_string).collect(), ..Self::default() }
    }

    /// A node of the tree under its parent. A secret is a number: the first, the second of that key on its level. In
    /// plain letters, because headers carry names.
    pub(super) fn node(&mut self, parent: usize, key: &str, value: &str) -> String {
        match value {
            "" => key.to_owned(),
            _ if is_secret(key) => {
                let count = self.secrets.entry((parent, key.to_owned())).or_default();
                *count += 1;
                format!("{key}=#{count}")
            }
            _ => format!("{key}={value}"),
        }
    }

    /// A name for a rule that no other has: the path to it, with a number if that is taken.
    pub(super) fn rule(&mut self, path: &str) -> String {
        let numbered = (2_u64..).map(|number| format!("{path}#{number}"));
        let mut names = std::iter::once(path.to_owned()).chain(numbered);
        let free = names.find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(free.clone());
        free
    }
}
