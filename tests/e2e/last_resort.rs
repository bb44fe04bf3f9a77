//! What passes when nobody can count, and what is too much of that.

use std::fmt::Write as _;

use serde_json::json;

use crate::folder::Folder;
use crate::tidegate::Tidegate;

/// More limits than one check can be charged: nothing of it is counted, and the class decides.
fn too_many_limits() -> String {
    let mut rules = String::from("domain: api\nrules:\n");
    for number in 0..65 {
        writeln!(rules, "  - {{ name: rule-{number}, by: [api_key], limit: 1/h }}").unwrap();
    }
    rules
}

#[tokio::test]
async fn what_nobody_counts_is_held_to_the_last_resort() {
    let settings = [("TIDEGATE_LAST_RESORT_NODE", "3/h"), ("TIDEGATE_LAST_RESORT_TENANT", "100/h")];
    let tidegate = Tidegate::set_up(Folder::of(&too_many_limits()), &settings).await;
    for key in ["k1", "k1", "k2"] {
        let passed = tidegate.check(key).await.expect(200).json();
        assert_eq!((&passed["state"], &passed["reason"]), (&json!("open"), &json!("undecided")));
    }
    let shed = tidegate.check("k3").await.expect(503);
    assert_eq!(shed.header("retry-after"), Some("1"));
    let shed = shed.json();
    assert_eq!((&shed["decision"], &shed["reason"]), (&json!("shed"), &json!("last-resort")));
    let metrics = tidegate.metrics().await;
    for line in [
        r#"ratelimit_failopen_total{class="comfort",reason="too_many_limits"} 3"#,
        r#"ratelimit_failopen_total{class="cost",reason="store"} 0"#,
        "ratelimit_last_resort_sheds_total 1",
    ] {
        assert!(metrics.lines().any(|one| one == line), "{line} is not in:\n{metrics}");
    }
}

#[tokio::test]
async fn without_it_everything_passes_and_is_counted() {
    let tidegate = Tidegate::with(&too_many_limits()).await;
    for _ in 0..5 {
        tidegate.check("k1").await.expect(200);
    }
    let line = r#"ratelimit_failopen_total{class="comfort",reason="too_many_limits"} 5"#;
    let metrics = tidegate.metrics().await;
    assert!(metrics.lines().any(|one| one == line), "{metrics}");
}
