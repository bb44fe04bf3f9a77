//! A short hash of what the rule files say, the same on every node with the same texts.

use ring::digest::{Context, SHA256};

use crate::reload::RuleTexts;

/// The first 64 bits of a SHA-256 of the texts, in hexadecimal. File names do not count: nodes may
/// keep the same files in different folders.
pub(crate) fn content_hash(texts: &RuleTexts) -> String {
    let mut sorted: Vec<&str> = texts.values().map(String::as_str).collect();
    sorted.sort_unstable();
    let mut context = Context::new(&SHA256);
    for text in sorted {
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text.as_bytes());
    }
    let digest = context.finish();
    let shown = digest.as_ref().first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
    format!("{shown:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(files: &[(&str, &str)]) -> String {
        let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        content_hash(&files.iter().map(own).collect())
    }

    #[test]
    fn hash_depends_on_texts_alone() {
        let both = hash(&[("/a/one.yaml", "x"), ("/a/two.yaml", "y")]);
        assert_eq!(both, hash(&[("/b/1.yaml", "y"), ("/b/2.yaml", "x")]));
        assert_ne!(both, hash(&[("/a/one.yaml", "xy"), ("/a/two.yaml", "")]));
        assert_eq!((both.len(), both == hash(&[])), (16, false));
    }
}
