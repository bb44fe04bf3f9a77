//! `tidegate validate`.

use serde_json::Value;

use super::{run, transcript};
use crate::folder::Folder;
use crate::golden;
use crate::tidegate::Tidegate;

const RULES: &str = r#"domain: api
tenant: org
identities: { api_key: { derive: org, map: { k1: acme } } }
rules:
  - name: health
    match: { path: [/healthz, /readyz] }
    action: bypass
  - name: per-key
    by: [api_key]
    limits: [100/s, 5000/h]
    tiers: { pro: [1000/s] }
  - name: orders
    match: { method: [POST], path: "/v1/orders/**" }
    by: [user]
    limit: 10/s burst 20
    mode: shadow
  - name: per-ip
    by: [ip]
    scope: global
    limit: 30/min
    class: security
"#;

const TREE: &str = "domain: mesh
descriptors:
  - key: database
    value: users
    rate_limit: { unit: second, requests_per_unit: 500 }
";

const WRONG: &str = r#"domain: api
rules:
  - name: per-key
    by: [api_key]
    limits: 5 per fortnight
  - name: orders
    mach: { path: "/v1/orders/**" }
    limit: 10/s
    mode: shadwo
"#;

#[tokio::test]
async fn good_rules_are_shown_with_their_effective_limits() {
    let folder = Folder::of(RULES);
    folder.write("tree.yaml", TREE);
    let commands = ["validate", "validate . --format json", "validate tree.yaml", "validate --deny-warnings"];
    golden::check("validate.txt", &transcript(&folder, &commands).await);
}

#[tokio::test]
async fn wrong_rules_are_shown_all_at_once_with_their_places() {
    let folder = Folder::of(WRONG);
    folder.write("more.yml", "domain: more\nrulez: []\n");
    let commands = ["validate", "validate --format json", "explain . path=/x"];
    golden::check("validate-wrong.txt", &transcript(&folder, &commands).await);
}

#[tokio::test]
async fn rules_that_must_be_atomic_and_are_not_are_told_what_to_write() {
    let folder = Folder::of(&RULES.replace("tenant: org", "tenant: org\natomic: required"));
    let commands = ["validate", "validate --format json"];
    golden::check("validate-atomic.txt", &transcript(&folder, &commands).await);
    folder.write("api.yaml", &folder_text(&folder).replace("scope: global", "scope: tenant"));
    let ended = run(&folder, "validate").await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.printed.contains("tenant (org)  per-key, orders, per-ip"), "{ended:?}");
}

fn folder_text(folder: &Folder) -> String {
    std::fs::read_to_string(folder.file("api.yaml")).unwrap()
}

#[tokio::test]
async fn the_schema_is_json() {
    let ended = run(&Folder::new(), "validate --schema").await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let schema: Value = serde_json::from_str(&ended.printed).unwrap();
    assert!(schema["$schema"].is_string(), "{schema}");
}

#[tokio::test]
async fn server_lists_rules_that_never_matched() {
    let rules = "domain: api\nrules:\n  - { name: per-key, by: [api_key], limit: 5/h }\n  \
        - { name: logins, match: { path: /login }, by: [ip], limit: 5/h }\n";
    let tidegate = Tidegate::with(rules).await;
    tidegate.check("k1").await.expect(200);
    let validate = format!("validate --server {}", tidegate.admin);
    let ended = run(&tidegate.rules, &validate).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let expected = "rules that never matched since the server started:\n  logins of api\n";
    assert!(ended.printed.starts_with(expected), "{ended:?}");
    assert_eq!(run(&tidegate.rules, &format!("{validate} --deny-warnings")).await.code, Some(3));
    let json: Value =
        serde_json::from_str(&run(&tidegate.rules, &format!("{validate} --format json")).await.printed)
            .unwrap();
    assert_eq!(json["never_matched"][0]["rule"], "logins");
}
