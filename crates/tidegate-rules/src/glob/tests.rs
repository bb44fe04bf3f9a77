use proptest::prelude::*;

use super::*;

fn check(glob: &str, matches: &[&str], fails: &[&str]) {
    let parsed = Glob::parse(glob).unwrap();
    for value in matches {
        assert!(parsed.matches(value), "{glob} matches {value:?}");
    }
    for value in fails {
        assert!(!parsed.matches(value), "{glob} does not match {value:?}");
    }
}

#[test]
fn what_is_no_sign_means_itself() {
    check("/a/b", &["/a/b"], &["/a", "/a/b/", "a/b", "/a/b/c", "/A/b", ""]);
    check("", &[""], &["/", "a"]);
    check(r"/a\*", &[r"/a\", r"/a\b"], &["/a*"]);
    check("/a.b?[c]", &["/a.b?[c]"], &["/axb?[c]"]);
}

#[test]
fn a_star_stays_within_its_segment() {
    check("/a/*", &["/a/", "/a/b", "/a/*"], &["/a", "/a/b/c", "/a/b/"]);
    check("*.example.com", &["www.example.com", ".example.com"], &["example.com", "a/b.example.com"]);
    check("/v*/x*y*z", &["/v1/xyz", "/v/x-y-y-z"], &["/v1/xzy", "/v1/xz", "/w/xyz"]);
    check("a*a", &["aa", "aba"], &["a", "ab"]);
    check("*a*", &["a", "bab"], &["", "b"]);
}

#[test]
fn two_stars_are_any_number_of_segments() {
    check("/a/**", &["/a", "/a/", "/a/b/c"], &["/ab", "/", "a", "/b/a"]);
    check("**", &["", "/", "a", "/a/b"], &[]);
    check("/**", &["", "/", "/a/b"], &["a", "a/b"]);
    check("/a/**/z", &["/a/z", "/a/b/z", "/a/z/z", "/a/b/c/z"], &["/a", "/a/b", "/a/z/b", "/az"]);
    check("**/z", &["z", "/z", "a/b/z"], &["/az", "z/"]);
    check("/**/b/**/d", &["/b/d", "/a/b/c/d", "/b/b/d/d"], &["/d/b", "/b", "/a/d"]);
    check("/**/**/b", &["/b", "/a/b", "/a/a/b"], &["/"]);
    check("/**/a/b/**/c", &["/a/a/b/c", "/a/b/a/b/x/c"], &["/a/c", "/a/a/c/b"]);
}

#[test]
fn captures_hold_one_segment_that_is_not_empty() {
    check("/v1/{id}", &["/v1/7", "/v1/{id}"], &["/v1/", "/v1", "/v1/7/8"]);
    let held = |glob: &str, value, index| Glob::parse(glob).unwrap().capture(value, index).map(str::to_owned);
    assert_eq!(held("/v1/{id}/x/{item}", "/v1/7/x/8", 0).as_deref(), Some("7"));
    assert_eq!(held("/v1/{id}/x/{item}", "/v1/7/x/8", 1).as_deref(), Some("8"));
    assert_eq!(held("/v1/{id}/x/{item}", "/v1/7/x/8", 2), None);
    assert_eq!(held("/v1/{id}", "/v2/7", 0), None);
    assert_eq!(held("/**/{last}", "/a/b/c", 0).as_deref(), Some("c"));
    assert_eq!(held("/**/x/{id}/**", "/a/x/1/x/2", 0).as_deref(), Some("1"));
    assert_eq!(held("/**/x/{id}/y", "/x/1/x/2/y", 0).as_deref(), Some("2"));
    let glob = Glob::parse("/{a}/{b-2}").unwrap();
    assert_eq!(glob.capture_names().collect::<Vec<_>>(), ["a", "b-2"]);
}

#[test]
fn errors_say_where_and_what_to_write() {
    let said = |text| Glob::parse(text).map_err(|error| (error.message, error.at)).unwrap_err();
    assert_eq!(said("/a/b**").1, 4..6);
    assert_eq!(
        said("/v{n}/x"),
        ("a capture is a whole segment: write `/{id}/`, or `*` for a part of one".into(), 2..5)
    );
    assert_eq!(said("/{a}/{a}"), ("`{a}` is captured twice: give each its own name".into(), 5..8));
    assert_eq!(said("/{}").1, 1..3);
    assert_eq!(said("/a/{id").0, "a brace without its other half: a capture is written `{id}`");
    assert_eq!(said("/a}{").1, 2..3);
    assert_eq!(said("/{a b}").1, 1..6);
    assert_eq!(said(&"/a".repeat(64)).0, "a glob has at most 64 segments");
}

#[test]
fn only_globs_without_signs_are_literal() {
    let literal = |text| Glob::parse(text).unwrap().is_literal();
    assert!(literal("/a/b") && literal(""));
    assert!(!literal("/a/*") && !literal("/**") && !literal("/{id}"));
}

#[test]
fn hostile_values_take_bounded_work() {
    let glob = Glob::parse(&format!("/**/a/{}b", "**/a/*a*a*a*a*b*/".repeat(15))).unwrap();
    assert!(!glob.matches(&"/aaaaaaaaaaaaaaaaaaaaaaaa/a".repeat(4_000)));
    assert!(!Glob::parse("*a*a*a*a*a*a*a*b").unwrap().matches(&"a".repeat(100_000)));
}

/// Matches by its definition, trying everything.
fn naive(glob: &[Segment], value: &[&str]) -> bool {
    match (glob, value) {
        ([], []) => true,
        ([Segment::Rest, after @ ..], _) => (0..=value.len()).any(|skipped| naive(after, &value[skipped..])),
        ([segment, after @ ..], [first, others @ ..]) => {
            segment.fits(first, &mut |_, _| {}) && naive(after, others)
        }
        _ => false,
    }
}

proptest! {
    #[test]
    fn agrees_with_trying_everything(
        glob in prop::collection::vec(prop::sample::select(vec!["", "a", "b", "*", "a*", "*b", "**", "{id}"]), 1..7),
        value in prop::collection::vec(prop::sample::select(vec!["", "a", "b", "ab"]), 1..8),
    ) {
        let mut seen = 0;
        let named = glob.iter().map(|word| { seen += 1; word.replace("id", &format!("id{seen}")) });
        let glob = Glob::parse(&named.collect::<Vec<_>>().join("/")).unwrap();
        prop_assert_eq!(glob.matches(&value.join("/")), naive(glob.segments(), &value));
    }

    #[test]
    fn no_text_makes_it_panic(glob in "[a*{}/é\\\\]{0,12}", value in "[ab/é*]{0,12}") {
        if let Ok(glob) = Glob::parse(&glob) {
            let matches = glob.matches(&value);
            for capture in 0..glob.capture_names().count() {
                prop_assert_eq!(glob.capture(&value, capture).is_some(), matches);
            }
        }
    }
}
