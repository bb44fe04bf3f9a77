//! A file to start from.

/// Rules with comments, ready to be changed: what `tidegate init` writes.
pub const STARTER: &str = include_str!("starter.yaml");

#[cfg(test)]
mod tests {
    use super::STARTER;
    use crate::{Source, compile};

    #[test]
    fn it_compiles_without_a_word() {
        let compiled = compile(vec![Source::new("api.yaml", STARTER)]);
        assert_eq!(compiled.render(), "");
        assert!(compiled.snapshot.is_some());
    }
}
