//! Whether one condition holds whenever another does, told from their form alone. What cannot be told is no: a warning that
//! is wrong is worse than one that is missing.

use super::reach::asked;
use crate::condition::{Condition, Test};
use crate::glob::{Glob, Segment};

/// Steps after which a pair of conditions is given up: nested `any` and `all` could take very many.
const MOST_STEPS: usize = 1_000;

/// Whether `wide` surely holds whenever `narrow` does.
pub(super) fn implies(narrow: &Condition, wide: &Condition) -> bool {
    Steps(MOST_STEPS).imply(narrow, wide)
}

struct Steps(usize);

impl Steps {
    fn imply(&mut self, narrow: &Condition, wide: &Condition) -> bool {
        let Some(left) = self.0.checked_sub(1) else { return false };
        self.0 = left;
        match (narrow, wide) {
            (_, Condition::All(parts)) => parts.iter().all(|part| self.imply(narrow, part)),
            // One without branches never holds; that is said elsewhere.
            (Condition::Any(branches), _) => {
                !branches.is_empty() && branches.iter().all(|branch| self.imply(branch, wide))
            }
            (Condition::All(parts), Condition::Any(branches)) => {
                branches.iter().any(|branch| self.imply(narrow, branch))
                    || parts.iter().any(|part| self.imply(part, wide))
            }
            (Condition::All(parts), _) => parts.iter().any(|part| self.imply(part, wide)),
            (_, Condition::Any(branches)) => branches.iter().any(|branch| self.imply(narrow, branch)),
            (Condition::Not(narrow), Condition::Not(wide)) => self.imply(wide, narrow),
            (Condition::Is(one, narrow), Condition::Is(other, wide)) => one == other && passes(narrow, wide),
            (Condition::Not(_), Condition::Is(..)) | (Condition::Is(..), Condition::Not(_)) => false,
        }
    }
}

/// Whether what passes the first test surely passes the second.
fn passes(narrow: &Test, wide: &Test) -> bool {
    match (narrow, wide) {
        (Test::Absent, _) => matches!(wide, Test::Absent),
        (_, Test::Present) => true,
        (Test::OneOf(values), Test::OneOf(among)) => values.iter().all(|value| among.contains(value)),
        (Test::OneOf(values), Test::Prefix(prefix)) => {
            values.iter().all(|value| value.starts_with(&**prefix))
        }
        (Test::OneOf(values), Test::Glob(glob)) => values.iter().all(|value| glob.matches(value)),
        (Test::Prefix(longer), Test::Prefix(prefix)) => longer.starts_with(&**prefix),
        (Test::Glob(narrow), Test::Glob(wide)) if is_below(narrow, wide) => true,
        _ => asked(narrow) == asked(wide),
    }
}

/// Whether the wide glob is literal segments and `**`, and the narrow one begins with these segments.
fn is_below(narrow: &Glob, wide: &Glob) -> bool {
    let Some((Segment::Rest, begins)) = wide.segments().split_last() else { return false };
    let is_literal = |segment: &Segment| matches!(segment, Segment::Literal(_));
    begins.iter().all(is_literal) && narrow.segments().starts_with(begins)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::condition::Facts;
    use crate::glob::Glob;
    use crate::name::{AttributeId, Names};

    fn attribute(name: &str) -> AttributeId {
        let mut names = Names::new();
        let known = ["path", "method"].map(|name| names.intern(name).unwrap());
        if name == "path" { known[0] } else { known[1] }
    }

    fn path(test: Test) -> Condition {
        Condition::Is(attribute("path"), test)
    }

    fn method(words: &[&str]) -> Condition {
        Condition::Is(attribute("method"), one_of(words))
    }

    fn not(words: &[&str]) -> Condition {
        Condition::Not(Box::new(method(words)))
    }

    fn one_of(words: &[&str]) -> Test {
        Test::OneOf(words.iter().map(|word| (*word).into()).collect())
    }

    fn glob(text: &str) -> Test {
        Test::Glob(Glob::parse(text).unwrap())
    }

    fn check(narrow: &Condition, wide: &Condition) {
        assert!(implies(narrow, wide), "{narrow:?} {wide:?}");
        assert!(!implies(wide, narrow), "{wide:?} {narrow:?}");
    }

    #[test]
    fn fewer_values_and_longer_prefixes_are_narrower() {
        check(&method(&["GET"]), &method(&["HEAD", "GET"]));
        check(&path(one_of(&["/v1/x", "/v1/y"])), &path(Test::Prefix("/v1".into())));
        check(&path(one_of(&["/v1/x"])), &path(glob("/v1/*")));
        check(&path(Test::Prefix("/v1/x".into())), &path(Test::Prefix("/v1".into())));
        check(&path(glob("/v1/*")), &path(Test::Present));
        check(&not(&["GET", "HEAD"]), &not(&["GET"]));
    }

    #[test]
    fn more_conditions_and_fewer_branches_are_narrower() {
        let (get, api) = (method(&["GET"]), path(glob("/v1/**")));
        let both = Condition::All(vec![get.clone(), api.clone()]);
        let either = Condition::Any(vec![get.clone(), api.clone()]);
        check(&both, &get);
        check(&both, &either);
        check(&get, &either);
        check(&get, &Condition::All(Vec::new()));
        assert!(implies(&both, &Condition::All(vec![api, method(&["GET"])])), "in another order");
    }

    #[test]
    fn what_cannot_be_told_is_no() {
        for (narrow, wide) in [
            (path(glob("/v1/x")), path(glob("/v1/*"))),
            (path(one_of(&["GET"])), method(&["GET"])),
            (Condition::Any(Vec::new()), method(&["GET"])),
            (Condition::Not(Box::new(method(&["GET"]))), path(Test::Present)),
            (path(Test::Absent), path(Test::Present)),
        ] {
            assert!(!implies(&narrow, &wide), "{narrow:?} {wide:?}");
        }
    }

    #[test]
    fn conditions_without_end_are_given_up() {
        let deep = (0..12).fold(method(&["GET"]), |inner, level| {
            let pair = vec![inner.clone(), inner];
            if level % 2 == 0 { Condition::All(pair) } else { Condition::Any(pair) }
        });
        assert!(!implies(&deep, &method(&["PUT"])));
    }

    fn any_test() -> impl Strategy<Value = Test> {
        let words = || prop::sample::select(vec!["/", "/v1", "/v1/x", "/v1/x/y", "/v2"]);
        prop_oneof![
            prop::collection::vec(words(), 1..3).prop_map(|words| one_of(&words)),
            words().prop_map(|word| Test::Prefix(word.into())),
            prop::sample::select(vec!["/v1/*", "/v1/**", "/**", "/v1/{id}"]).prop_map(glob),
            Just(Test::Present),
            Just(Test::Absent),
        ]
    }

    fn any_condition() -> impl Strategy<Value = Condition> {
        let leaf = (any_test(), any::<bool>()).prop_map(|(test, is_path)| {
            Condition::Is(attribute(if is_path { "path" } else { "method" }), test)
        });
        leaf.prop_recursive(3, 8, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Condition::All),
                prop::collection::vec(inner.clone(), 0..3).prop_map(Condition::Any),
                inner.prop_map(|part| Condition::Not(Box::new(part))),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_never_says_yes_where_the_facts_say_no(narrow in any_condition(), wide in any_condition()) {
            let said = implies(&narrow, &wide);
            let values = [None, Some("/"), Some("/v1"), Some("/v1/x"), Some("/v1/x/y"), Some("/v2"), Some("")];
            for (one, other) in values.iter().flat_map(|one| values.map(|other| (*one, other))) {
                let mut facts = Facts::new();
                for (name, value) in [("path", one), ("method", other)] {
                    if let Some(value) = value {
                        facts.set(attribute(name), value);
                    }
                }
                prop_assert!(!said || !narrow.holds(&facts) || wide.holds(&facts), "{narrow:?} {wide:?}");
            }
        }
    }
}
