use crate::{Snapshot, Source, compile};

/// The rules of a tree, each with its amount per window, its mode and its action.
fn rules(descriptors: &str) -> Vec<String> {
    let (snapshot, said) = read(descriptors);
    let snapshot = snapshot.unwrap_or_else(|| panic!("{said}"));
    let domain = snapshot.domain("api").unwrap();
    let rule = |rule: &crate::rule::Rule| {
        let limit = rule.limits.own.first().map_or("none", |limit| &limit.written);
        format!("{} {limit} {} {}", rule.name, rule.mode.word(), rule.action.word())
    };
    domain.rules.iter().map(rule).collect()
}

fn read(descriptors: &str) -> (Option<Snapshot>, String) {
    let compiled = compile(vec![Source::new("a.yaml", format!("domain: api\ndescriptors:\n{descriptors}"))]);
    let said = compiled.render();
    (compiled.snapshot, said)
}

#[test]
fn truth_values_have_many_spellings() {
    for word in ["yes", "Yes", "y", "on", "ON", "True", "TRUE", "true"] {
        let tree =
            format!("- {{ key: a, shadow_mode: {word}, rate_limit: {{ unit: day, requests_per_unit: 5 }} }}");
        assert_eq!(rules(&tree), ["a 5/d shadow reject"], "{word}");
    }
    for word in ["no", "N", "off", "False", "~"] {
        let tree =
            format!("- {{ key: a, shadow_mode: {word}, rate_limit: {{ unit: day, requests_per_unit: 5 }} }}");
        assert_eq!(rules(&tree), ["a 5/d enforce reject"], "{word}");
    }
    let quoted = "- { key: a, shadow_mode: \"yes\", rate_limit: { unit: day, requests_per_unit: 5 } }";
    assert!(read(quoted).1.contains("error[wrong-type]"));
}

#[test]
fn values_keep_their_spelling() {
    let tree = "- { key: a, value: yes, rate_limit: { unit: day, requests_per_unit: 1 } }
- { key: a, value: True, rate_limit: { unit: day, requests_per_unit: 2 } }
- { key: a, value: 0x10, rate_limit: { unit: day, requests_per_unit: 3 } }";
    let names = ["a=yes 1/d enforce reject", "a=True 2/d enforce reject", "a=0x10 3/d enforce reject"];
    assert_eq!(rules(tree), names);
}

#[test]
fn numbers_have_many_bases() {
    for (written, amount) in
        [("0x10", 16), ("0X1f", 31), ("010", 8), ("0o10", 8), ("0b11", 3), ("1_000", 1000), ("+5", 5)]
    {
        let tree = format!("- {{ key: a, rate_limit: {{ unit: day, requests_per_unit: {written} }} }}");
        assert_eq!(rules(&tree), [format!("a {amount}/d enforce reject")], "{written}");
    }
    for written in ["\"5\"", "5.5", "0x", "09", "-1", "4294967296"] {
        let tree = format!("- {{ key: a, rate_limit: {{ unit: day, requests_per_unit: {written} }} }}");
        assert!(read(&tree).1.contains("error["), "{written}");
    }
}

#[test]
fn merge_keys_count_where_they_stand() {
    let tree = "- key: a
  rate_limit: &daily { unit: day, requests_per_unit: 5 }
- key: b
  rate_limit: { <<: *daily, requests_per_unit: 7 }
- key: c
  rate_limit: { requests_per_unit: 7, <<: *daily }
- key: d
  rate_limit: { <<: [{ requests_per_unit: 9 }, *daily] }";
    let expected = ["a 5/d", "b 7/d", "c 5/d", "d 9/d"].map(|rule| format!("{rule} enforce reject"));
    assert_eq!(rules(tree), expected);
    let whole = "- &a { key: a, shadow_mode: yes, rate_limit: { unit: day, requests_per_unit: 5 } }
- { <<: *a, key: b }";
    assert_eq!(rules(whole), ["a 5/d shadow reject", "b 5/d shadow reject"]);
    assert!(read("- { key: a, <<: 5 }").1.contains("`<<` wants a map"));
}

#[test]
fn empty_rate_limit_is_none() {
    assert_eq!(rules("- { key: a, rate_limit: }"), [""; 0]);
    assert_eq!(
        rules("- { key: a, rate_limit: { unit: day, requests_per_unit: 5 }, rate_limit: ~ }"),
        [""; 0]
    );
}

#[test]
fn last_duplicate_key_counts() {
    let tree = "- key: a
  key: b
  rate_limit: { unit: day, requests_per_unit: 5 }
  rate_limit: { requests_per_unit: 7 }
  descriptors: [{ key: x, rate_limit: { unit: hour, requests_per_unit: 1 } }]
  descriptors: [{ key: y, rate_limit: { unit: hour, requests_per_unit: 2 } }]";
    assert_eq!(rules(tree), ["b 7/d enforce reject", "b/y 2/h enforce reject"]);
    let (_, said) = read(tree);
    assert_eq!(said.matches("warning[duplicate-key]").count(), 3, "{said}");
    let top = "- { key: a }\ndescriptors:\n- { key: b, rate_limit: { unit: day, requests_per_unit: 5 } }";
    assert_eq!(rules(top), ["b 5/d enforce reject"]);
}

#[test]
fn own_rules_refuse_duplicate_keys() {
    for text in [
        "domain: api\nrules: []\nrules: [{ name: a, limit: 1/s }]\n",
        "domain: api\nrules: [{ name: a, limit: 1/s, limit: 2/s }]\n",
    ] {
        let said = compile(vec![Source::new("a.yaml", text)]).render();
        assert!(said.contains("error[duplicate-key]"), "{said}");
    }
}
