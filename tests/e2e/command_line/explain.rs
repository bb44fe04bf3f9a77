//! `tidegate explain`, offline and against a server.

use serde_json::Value;

use super::{run, transcript};
use crate::folder::Folder;
use crate::golden;
use crate::tidegate::Tidegate;

const RULES: &str = r#"domain: api
tenant: org
identities: { api_key: { derive: org, map: { sk-1: acme } } }
rules:
  - name: health
    match: { path: /healthz }
    action: bypass
  - name: per-key
    by: [api_key]
    limit: 100/min
    tiers: { pro: 1000/min }
  - name: orders
    match: { method: POST, path: "/v1/orders/**" }
    by: [user]
    limit: 10/s burst 20
    mode: shadow
  - name: holidays
    match: { path: "/v1/**" }
    when: { dates: [2026-12-24] }
    by: [user]
    limit: 5/min
"#;

#[tokio::test]
async fn an_explanation_says_what_is_charged_where_and_why_not_the_rest() {
    let folder = Folder::of(RULES);
    let noon = "--at 2026-06-01T12:00:00Z";
    let eve = "--at 2026-12-24T18:00:00Z";
    let order = "method=POST path=/v1/orders/7 api_key=sk-1 user=ada plan=pro";
    let commands = [
        format!("explain . {order} {noon}"),
        format!("explain . {order} {eve}"),
        format!("explain . {order} {noon} --format json"),
        format!("explain . path=/healthz {noon}"),
        format!("explain . --domain other path=/x {noon}"),
    ];
    let said = transcript(&folder, &commands.each_ref().map(String::as_str)).await;
    golden::check("explain.txt", &said);
}

#[tokio::test]
async fn a_server_explains_as_its_files_do() {
    let tidegate = Tidegate::with(RULES).await;
    let question =
        "method=POST path=/v1/orders/7 api_key=sk-1 user=ada --at 2026-06-01T12:00:00Z --format json";
    let here = run(&tidegate.rules, &format!("explain . {question}")).await;
    let there = run(&tidegate.rules, &format!("explain --server {} {question}", tidegate.admin)).await;
    assert_eq!((here.code, there.code), (Some(0), Some(0)), "{here:?} {there:?}");
    let parts = |text: &str| {
        let said: Value = serde_json::from_str(text).unwrap();
        let rules = said["rules"].as_array().unwrap().clone();
        rules
            .iter()
            .map(|rule| (rule["rule"].clone(), rule["part"].clone(), rule["charges"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(parts(&here.printed), parts(&there.printed));
    assert!(!there.printed.contains("sk-1"), "a secret is shown: {}", there.printed);
}

#[tokio::test]
async fn descriptors_are_explained() {
    let tree = "domain: mesh\ndescriptors:\n  - key: database\n    value: users\n    descriptors:\n      \
        - { key: user, rate_limit: { unit: second, requests_per_unit: 5 } }\n";
    let tidegate = Tidegate::with(tree).await;
    let asked = "--descriptor database=users,user=ada --descriptor other=x";
    let here = run(&tidegate.rules, &format!("explain . {asked}")).await;
    let there = run(&tidegate.rules, &format!("explain --server {} {asked}", tidegate.admin)).await;
    for ended in [&here, &there] {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.printed.contains("from the counter of database=users, user=ada"), "{ended:?}");
    }
    let wrong = run(&tidegate.rules, "explain . --descriptor database").await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}
