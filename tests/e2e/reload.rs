//! Rules that change while the server runs.

use crate::client;
use crate::folder::Folder;
use crate::patience::until;
use crate::tidegate::Tidegate;

fn per_key(limit: &str) -> String {
    format!("domain: api\nrules:\n  - name: per-key\n    by: [api_key]\n    limit: {limit}\n")
}

/// Waits until a server that has lent two units to k1 has so many left of a new limit.
async fn wait_for(tidegate: &Tidegate, left: u64) {
    until("the new limit", async || (tidegate.left("k1").await == left).then_some(())).await;
}

async fn take_two(tidegate: &Tidegate) {
    tidegate.check("k1").await.expect(200);
    tidegate.check("k1").await.expect(200);
}

#[tokio::test]
async fn a_file_written_in_place_is_seen() {
    let tidegate = Tidegate::with(&per_key("5/h")).await;
    take_two(&tidegate).await;
    tidegate.rules.write("api.yaml", &per_key("9/h"));
    wait_for(&tidegate, 7).await;
}

#[tokio::test]
async fn a_file_put_in_the_place_of_another_is_seen() {
    let tidegate = Tidegate::with(&per_key("5/h")).await;
    take_two(&tidegate).await;
    let before = tidegate.snapshot().await;
    tidegate.rules.replace("api.yaml", &per_key("9/h"));
    wait_for(&tidegate, 7).await;
    assert!(tidegate.snapshot().await > before, "a new version has a higher number");
}

#[tokio::test]
async fn files_that_come_and_go_are_seen() {
    let tidegate = Tidegate::start(Folder::new()).await;
    tidegate.rules.write("api.yaml", &per_key("1/h"));
    let refused = async || (tidegate.check("k1").await.status == 429).then_some(());
    until("the first rule", refused).await;
    tidegate.rules.remove("api.yaml");
    let passes = async || (tidegate.check("k1").await.status == 200).then_some(());
    until("no rule", passes).await;
    let gone = |line: &str| (line.contains("everything passes") && line.contains("api.yaml")).then_some(());
    tidegate.program.line("which file is gone", gone).await;
}

#[tokio::test]
async fn a_config_map_of_kubernetes_is_seen_when_its_link_is_swapped() {
    let rules = Folder::new();
    rules.mount("2026_01_01", &per_key("5/h"));
    let tidegate = Tidegate::start(rules).await;
    take_two(&tidegate).await;
    tidegate.rules.mount("2026_01_02", &per_key("9/h"));
    wait_for(&tidegate, 7).await;
    tidegate.rules.mount("2026_01_03", &per_key("4/h"));
    wait_for(&tidegate, 2).await;
}

#[tokio::test]
async fn a_hangup_makes_the_server_read_its_rules_again() {
    let tidegate = Tidegate::with(&per_key("5/h")).await;
    take_two(&tidegate).await;
    tidegate.rules.write("api.yaml", &per_key("9/h"));
    tidegate.program.signal("HUP").await;
    wait_for(&tidegate, 7).await;
    tidegate.get("/healthz").await.expect(200);
}

#[tokio::test]
async fn the_admin_door_reads_rules_again_and_answers_when_they_are_in_force() {
    let tidegate = Tidegate::with(&per_key("5/h")).await;
    take_two(&tidegate).await;
    let reload = async || client::post(tidegate.admin, "/admin/v1/reload", "").await;
    tidegate.rules.replace("api.yaml", &per_key("9/h"));
    reload().await.expect(200);
    assert_eq!(tidegate.left("k1").await, 7);
    tidegate.rules.replace("api.yaml", &per_key("9 bananas"));
    let answer = reload().await.expect(422);
    assert!(answer.body.contains("bananas"), "{answer:?}");
    assert_eq!(tidegate.left("k1").await, 7);
}

#[tokio::test]
async fn a_bad_file_keeps_the_last_good_rules_and_is_said_everywhere() {
    let tidegate = Tidegate::with(&per_key("5/h")).await;
    take_two(&tidegate).await;
    let metrics = tidegate.metrics().await;
    assert_eq!(failures(&metrics), 0, "{metrics}");

    tidegate.rules.replace("api.yaml", &per_key("9 bananas"));
    let failed = async || (failures(&tidegate.metrics().await) > 0).then_some(());
    until("a failed reload in the metrics", failed).await;
    assert_eq!(tidegate.left("k1").await, 3, "the last good rules stay");
    tidegate.program.line("the bad file in the log", |line| line.contains("api.yaml").then_some(())).await;
    let admin = client::get(tidegate.admin, "/admin/v1/rules", &[]).await.expect(200);
    assert!(admin.body.contains("api.yaml") && admin.body.contains("bananas"), "{admin:?}");

    tidegate.rules.replace("api.yaml", &per_key("9/h"));
    wait_for(&tidegate, 7).await;
}

/// How many readings did not put all files in force as they are written.
fn failures(metrics: &str) -> u64 {
    let results = ["partial", "failed"].map(|word| format!("ratelimit_reloads_total{{result=\"{word}\"}}"));
    let failed = |line: &&str| results.iter().any(|result| line.starts_with(result));
    metrics.lines().filter(failed).filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}
