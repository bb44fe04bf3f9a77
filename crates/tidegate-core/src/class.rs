//! What matters when nobody can count.

/// What hangs on a limit: decides what happens when the store cannot answer, and who waits last when it is slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Callers' comfort: let them pass.
    #[default]
    Comfort,
    /// What requests cost: let those pass who pay.
    Cost,
    /// Safety: refuse.
    Security,
    /// Exactness: refuse.
    Strict,
}

impl Class {
    /// Whether only the one true count will do: a part of it, held by one node, will not.
    pub const fn is_exact(self) -> bool {
        matches!(self, Self::Security | Self::Strict)
    }

    /// The word in rules, metrics and answers.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Comfort => "comfort",
            Self::Cost => "cost",
            Self::Security => "security",
            Self::Strict => "strict",
        }
    }

    /// The one that a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Comfort, Self::Cost, Self::Security, Self::Strict]
            .into_iter()
            .find(|class| class.word() == word)
    }
}
