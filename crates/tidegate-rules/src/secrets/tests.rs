use crate::words::describe;
use crate::{Compiled, Source, compile};

/// Every value that begins with `sk_` is a secret, wherever it stands.
const SECRETS: &str = r#"
domain: api
tenant: org
identities:
  api_key: { derive: org, map: { sk_map: acme }, pattern: "(?<org>[a-z]+)_.*" }
rules:
  - { name: exact, match: { api_key: sk_exact }, by: [user], limit: 5/s }
  - { name: several, match: { header.Authorization: [sk_one, sk_two] }, by: [user], limit: 5/s }
  - { name: long, match: { not: { token: { prefix: sk_prefix } } }, by: [user], limit: 5/s }
  - { name: form, match: { token: { regex: "sk_[a-z]+" } }, by: [user], limit: 5/s }
  - { name: glob, match: { token: { glob: "sk_glob/{id}" } }, by: [id], limit: 5/s }
descriptors:
  - { key: api_key, value: sk_tree, rate_limit: { unit: second, requests_per_unit: 5 } }
  - { key: api_key, value: "sk_tree*", share_threshold: true, metadata: { token: sk_note }, rate_limit: { unit: second, requests_per_unit: 6 } }
"#;

fn compiled(text: &str) -> Compiled {
    compile(vec![Source::new("api.yaml", text)])
}

#[test]
fn no_secret_is_shown_when_rules_are_printed_or_described() {
    let compiled = compiled(SECRETS);
    let said = compiled.render();
    let snapshot = compiled.snapshot.as_ref().unwrap_or_else(|| panic!("{said}"));
    let domain = snapshot.domain("api").unwrap();
    let rules = format!("{:?}", domain.rules);
    let words: Vec<String> = domain.rules.iter().map(|rule| describe(&rule.applies, &domain.names)).collect();
    let rows = format!("{:?}", crate::table::rows(snapshot));
    let whole = format!("{compiled:?} {domain:?}");
    for text in [whole, rules, words.join(" "), rows, said] {
        assert!(!text.contains("sk_"), "{text}");
    }
    assert_eq!(words[0], "api_key = …");
    let names: Vec<&str> = domain.rules[5..].iter().map(|rule| &*rule.name).collect();
    assert_eq!(names, ["api_key=#1", "api_key=#2"]);
}

#[test]
fn no_secret_is_shown_in_what_is_wrong_with_a_file() {
    for (was, is) in [
        ("sk_map: acme", "sk_map: acme, sk_map: other"),
        ("sk_map: acme", "sk_map: [acme]"),
        ("map: { sk_map: acme }", "sk_map: acme"),
        ("api_key: sk_exact", "api_key: '< sk_exact'"),
        ("api_key: sk_exact", "api_key: 'sk_exact*', unknown: { globb: 1 }"),
        ("prefix: sk_prefix", "cidr: sk_prefix"),
        ("glob: \"sk_glob/{id}\"", "glob: \"sk_glob/{id\""),
        ("sk_[a-z]+", "sk_(a"),
        ("value: \"sk_tree*\", share_threshold: true", "value: sk_tree"),
        ("value: sk_tree,", "value: sk_tree, share_threshold: true,"),
        ("name: exact,", "nam: exact,"),
    ] {
        assert!(SECRETS.contains(was), "{was}");
        let compiled = compiled(&SECRETS.replacen(was, is, 1));
        let said = compiled.render();
        assert!(said.contains("error["), "{is}: {said}");
        assert!(!said.contains("sk_") && !format!("{compiled:?}").contains("sk_"), "{is}: {said}");
    }
}

#[test]
fn no_secret_is_shown_where_an_anchor_names_it() {
    let text = "domain: api
rules:
  - { name: a, match: { user: &one sk_1 }, limt: 5/s }
  - { name: b, match: { api_key: *one }, limit: 5/s }
  - { name: c, match: { all: [{ user: &two [sk_2, 17] }] }, limt: 5/s }
  - { name: d, match: { token: *two, user: 17 }, limt: 5/s }
";
    let said = compiled(text).render();
    assert_eq!(said.matches("error[unknown-key]").count(), 3, "{said}");
    assert!(!said.contains("sk_") && !said.contains("17"), "{said}");
    assert!(said.contains("user: &one **** }, limt"), "{said}");
}

#[test]
fn no_secret_is_shown_of_what_is_not_yaml() {
    for broken in [
        "match: { api_key: sk_1, method: GET",
        "match: { api_key: \"sk_1 }",
        "? [sk_1]",
        "api_key: *sk_1",
        "match: { api_key: !sk_1, x: [}",
        "api_key: sk_1\n- token: [sk-1:sk_2, sk_3",
        "api_key: {derive: org, map: {sk_1: acme, sk_1: b, ? {}}}",
    ] {
        let said = compiled(&format!("domain: api # api_key\nrules:\n  {broken}\n")).render();
        assert!(said.contains("error["), "{broken}: {said}");
        assert!(!said.contains("sk_") && !said.contains("sk-"), "{broken}: {said}");
    }
    let said = compiled("domain: api\nrules:\n  - { match: { api_key: sk_1 }, limit: ]\n").render();
    assert!(said.contains("3 |   - { match: { api_key: **** }, limit: ]"), "{said}");
}

#[test]
fn masked_lines_keep_their_caret() {
    for secret in ["sk_1", "sk_ö", "sk_→1", "sk_🦀"] {
        let text =
            format!("domain: api\nrules: [{{ name: a, match: {{ api_key: {secret} }}, limt: 5/s }}]\n");
        let said = compiled(&text).render();
        let lines: Vec<&str> = said.lines().skip_while(|line| !line.contains("unknown-key")).collect();
        let column = |line: &str, sign: &str| line[..line.find(sign).unwrap()].chars().count();
        assert_eq!(column(lines[3], "limt"), column(lines[4], "^^^^"), "{said}");
        assert!(!said.contains("sk_"), "{said}");
        let column = text.lines().nth(1).unwrap().split("limt").next().unwrap().chars().count() + 1;
        assert!(said.contains(&format!("api.yaml:2:{column}\n")), "{said}");
    }
}

#[test]
fn tags_of_secrets_are_hidden() {
    let said =
        compiled("domain: api\nrules: [{ name: a, match: { api_key: !sk_1 }, limit: 5/s }]\n").render();
    assert!(said.contains("error[tag]") && !said.contains("sk_"), "{said}");
}

#[test]
fn what_is_hidden_keeps_its_place() {
    let text = "domain: api\nrules: [{ name: a, match: { api_key: 'sk_1' }, limt: 5/s }]\n";
    let said = compiled(text).render();
    assert!(said.contains("2 | rules: [{ name: a, match: { api_key: ****** }, limt: 5/s }]"), "{said}");
    assert!(said.contains("api.yaml:2:48"), "{said}");
}
