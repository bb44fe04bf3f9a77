//! `/metrics`, as Prometheus reads it.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::folder::Folder;
use crate::patience::within;
use crate::program::installed;
use crate::tidegate::Tidegate;

const RULES: &str = "
domain: api
rules:
  - name: per-key
    by: [api_key]
    limit: 2/h
  - name: watched
    by: [api_key]
    limit: 1/h
    mode: shadow
";

async fn after_some_checks() -> String {
    let state = Folder::new();
    let file = state.file("counters").into_os_string().into_string().unwrap();
    let settings = [("TIDEGATE_CHECKPOINT_PATH", file.as_str())];
    let tidegate = Tidegate::set_up(Folder::of(RULES), &settings).await;
    for status in [200, 200, 429, 429] {
        tidegate.check("k1").await.expect(status);
    }
    tidegate.metrics().await
}

#[tokio::test]
async fn promtool_has_nothing_to_say_about_them() {
    let metrics = after_some_checks().await;
    let mut command = Command::new(installed("bin/promtool"));
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = command.spawn().unwrap();
    promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).await.unwrap();
    let output = within("promtool", promtool.wait_with_output()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.trim().is_empty(), "{said}\n{metrics}");
}

#[tokio::test]
async fn decisions_are_counted_by_rule_and_outcome() {
    let metrics = after_some_checks().await;
    let count = |outcome: &str| {
        let wanted =
            [r#"domain="api""#.to_owned(), r#"rule="per-key""#.to_owned(), format!("outcome=\"{outcome}\"")];
        let is_it = |line: &&str| {
            line.starts_with("ratelimit_decisions_total{") && wanted.iter().all(|label| line.contains(label))
        };
        metrics.lines().find(is_it).and_then(|line| line.rsplit(' ').next()).map(str::to_owned)
    };
    assert_eq!(count("allowed").as_deref(), Some("2"), "{metrics}");
    assert_eq!(count("denied").as_deref(), Some("2"), "{metrics}");
}
