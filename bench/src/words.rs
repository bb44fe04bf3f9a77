//! Choices that have a word for each value, the same on command lines, between processes and in tables.

/// An enum with `ALL`, `Display` and `FromStr` by the words beside its variants.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self { $(Self::$variant => $word,)* })
            }
        }

        impl std::str::FromStr for $name {
            type Err = anyhow::Error;

            fn from_str(word: &str) -> anyhow::Result<Self> {
                let known = Self::ALL.iter().copied().find(|value| value.to_string() == word);
                known.ok_or_else(|| anyhow::anyhow!("unknown word {word:?}; write one of {:?}", [$($word),*]))
            }
        }
    };
}

pub(crate) use words;
