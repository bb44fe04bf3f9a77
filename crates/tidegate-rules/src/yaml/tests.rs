use proptest::prelude::*;

use super::*;
use crate::shape::head;

fn read(text: &str) -> (Option<Node>, String) {
    let source = Source::new("t.yaml", text);
    let mut diagnostics = Diagnostics::default();
    let node = parse(&source, &mut diagnostics);
    (node, diagnostics.render(&source))
}

fn good(text: &str) -> Node {
    let (node, said) = read(text);
    assert_eq!(said, "");
    node.unwrap()
}

fn bad(text: &str) -> String {
    read(text).1
}

#[test]
fn values_keep_their_kinds_and_their_places() {
    let text = "a: 1\nb: [x, 'true', true, ~]\nc: {d: 1.5}\n";
    let node = good(text);
    assert_eq!(node.get("a").unwrap().value, Value::Integer(1));
    let Value::List(items) = &node.get("b").unwrap().value else { panic!("it is a list") };
    let kinds: Vec<_> = items.iter().map(|item| item.value.clone()).collect();
    let text_of = |text: &str| Value::Text(text.to_owned());
    assert_eq!(kinds, [text_of("x"), text_of("true"), Value::Bool(true), Value::Null]);
    assert_eq!(&text[items[1].span.start..items[1].span.end], "'true'");
    let inner = node.get("c").unwrap().get("d").unwrap();
    assert_eq!((&text[inner.span.start..inner.span.end], &inner.value), ("1.5", &text_of("1.5")));
}

#[test]
fn only_what_a_number_would_be_written_as_is_one() {
    for (text, number) in [("7", 7), ("-7", -7), ("0", 0), ("9223372036854775807", i64::MAX)] {
        assert_eq!(good(text).value, Value::Integer(number));
    }
    for text in ["007", "+5", "-0", "00", "1_000", "0x1f", "9223372036854775808", "1e3"] {
        assert_eq!(good(text).value, Value::Text(text.to_owned()));
        assert_eq!(good(&format!("{text}: x")).entries()[0].0.name, text);
    }
}

#[test]
fn an_empty_file_is_nothing() {
    for text in ["", "\n", "# only a comment\n"] {
        assert_eq!(good(text).value, Value::Null);
    }
}

#[test]
fn a_key_that_is_given_twice_is_an_error_at_the_second() {
    assert_eq!(
        bad("a: 1\nb: 2\na: 3\n"),
        "error[duplicate-key]: this key is given twice\n --> t.yaml:3:1\n  |\n3 | a: 3\n  | ^\n  = help: keep one of \
         them\n\n"
    );
}

#[test]
fn what_is_not_yaml_is_pointed_at() {
    assert!(bad("a: [1, 2\nb: 3\n").contains("error[yaml]: this is not YAML"), "{}", bad("a: [1, 2\nb: 3\n"));
    assert!(bad("a: 1\n---\nb: 2\n").contains("error[second-document]"));
    assert!(bad("? [a, b]\n: 1\n").contains("error[key]: a key must be text"));
}

#[test]
fn aliases_are_what_they_stand_for() {
    let node = good("one: &limits [1, 2]\ntwo: *limits\n");
    assert_eq!(node.get("one").unwrap().value, node.get("two").unwrap().value);
}

#[test]
fn a_thousand_million_laughs_are_counted_and_refused() {
    let mut lines = vec![String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]")];
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        lines.push(format!("a{level}: &a{level} [{}]", vec![before; 10].join(", ")));
    }
    assert!(bad(&lines.join("\n")).contains("error[too-many-values]"));
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = format!("{}{}", "[".repeat(70), "]".repeat(70));
    assert!(bad(&deep).contains("error[too-deep]"), "{}", bad(&deep));
    assert!(bad(&"x".repeat(MAX_BYTES + 1)).contains("error[file-too-large]"));
}

fn all_places_lie_within(text: &str) {
    let Some(node) = read(text).0 else { return };
    let mut open = vec![&node];
    while let Some(node) = open.pop() {
        for span in [node.span, head(node)] {
            assert!(text.get(span.start..span.end).is_some(), "{node:?} of {text:?}");
        }
        match &node.value {
            Value::Map(entries) => open.extend(entries.iter().map(|(_, value)| value)),
            Value::List(items) => open.extend(items),
            _ => {}
        }
    }
}

#[test]
fn a_list_that_begins_where_the_text_ends_has_its_place_there() {
    for text in ["ip:\n-", "ip:\n- ", "-", "a: -", "ö:\n-"] {
        all_places_lie_within(text);
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[a-z0-9:\\-\\[\\]{}&*#|>'\" \n\t~?!%@,ö]{0,80}") {
        read(&text);
    }

    #[test]
    fn places_lie_within_the_text(
        text in prop_oneof!["([a-c]: [a-c0-9]{1,3}\n){0,6}", "([a-c]:[ \n]|- ?|[a-cö0-9]{1,2}|\n){0,9}"],
    ) {
        all_places_lie_within(&text);
    }
}

#[test]
fn common_mistakes_have_a_hint() {
    for (text, place, hint) in [
        ("rules:\n\t- name: a\n", "2:1", "indent with spaces"),
        ("rules:\n  - name: a\n\tlimit: 5/s\n", "3:1", "indent with spaces"),
        ("domain:api\nrules: []\n", "1:7", "`key: value`"),
        ("rules:\n  - name:a\n    limit: 5/s\n", "2:9", "`key: value`"),
        ("domain: \"api\nrules: []\n", "2:1", "close the quote"),
        ("a:\n  - { name: a, limit: 5/s\n", "2:5", "close it"),
        ("a: [{ name: a }\nother: 1\n", "2:6", "close the bracket"),
        ("a:\n  - name: a\n   limit: 5/s\n", "3:4", "alike"),
        ("a: **/x\n", "1:4", "\"**/x\""),
        ("a: @x\n", "1:4", "between quotes"),
        ("a: { path: /v1/{id} }\n", "1:16", "\"/v1/{id}\""),
        ("a: 'it's'\n", "1:8", "''"),
        ("a: \"\\d\"\n", "1:4", "single quotes"),
        ("a: It is: wrong\n", "1:9", "between quotes"),
        ("a: - b\n", "1:4", "a line of its own"),
    ] {
        let said = bad(text);
        assert!(said.contains(&format!("t.yaml:{place}\n")) && said.contains(hint), "{said}");
    }
}

#[test]
fn tags_are_not_lost() {
    let said = bad("a: !US\nb: [x, !CA]\nc: !!str x\n");
    assert_eq!(said.matches("error[tag]").count(), 2, "{said}");
    assert!(said.contains("t.yaml:1:4\n") && said.contains("t.yaml:2:8\n"), "{said}");
}
