//! `tidegate check`, which asks a running server.

use serde_json::{Value, json};
use tokio::net::TcpSocket;

use super::run;
use crate::folder::Folder;
use crate::tidegate::Tidegate;
use crate::upstream::Upstream;

const RULES: &str = "domain: api\nrules:\n  - name: per-key\n    by: [api_key]\n    limit: 2/h\n";

#[tokio::test]
async fn a_check_ends_with_0_while_it_passes_and_with_5_when_it_is_refused() {
    let tidegate = Tidegate::with(RULES).await;
    let check = format!("check --server http://{} api_key=k1", tidegate.http);
    for left in ["1 of 2 left", "0 of 2 left"] {
        let passed = run(&tidegate.rules, &check).await;
        assert_eq!(passed.code, Some(0), "{passed:?}");
        assert!(passed.printed.starts_with("allow") && passed.printed.contains(left), "{passed:?}");
    }
    let refused = run(&tidegate.rules, &check).await;
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.printed.starts_with("deny") && refused.printed.contains("again in"), "{refused:?}");
    assert!(!format!("{}{}", refused.printed, refused.said).contains("k1"), "{refused:?}");
}

#[tokio::test]
async fn a_peek_takes_nothing_and_json_is_the_server_s_own_answer() {
    let tidegate = Tidegate::with(RULES).await;
    let check = format!("check --server {} --format json --cost 2 api_key=k1", tidegate.http);
    let answer = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let peeked = run(&tidegate.rules, &format!("{check} --peek")).await;
    assert_eq!((peeked.code, &answer(&peeked.printed)["decision"]), (Some(0), &Value::from("allow")));
    assert_eq!(tidegate.left("k1").await, 2);
    let passed = run(&tidegate.rules, &check).await;
    assert_eq!(answer(&passed.printed)["limits"][0]["remaining"], 0, "{passed:?}");
    let refused = run(&tidegate.rules, &check).await;
    assert_eq!((refused.code, &answer(&refused.printed)["denied_by"][0]), (Some(5), &Value::from("per-key")));
}

/// A port that is bound and not listened at refuses every connection, and nobody else gets it.
#[tokio::test]
async fn a_server_that_is_not_there_ends_with_4() {
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = bound.local_addr().unwrap();
    for command in ["check api_key=k1", "explain api_key=k1", "rules off per-key", "rules list"] {
        let ended = run(&Folder::new(), &format!("{command} --server {nobody}")).await;
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert!(ended.said.contains(&nobody.to_string()) && ended.said.contains("hint:"), "{ended:?}");
        assert_eq!(ended.printed, "");
    }
}

#[tokio::test]
async fn what_the_server_cannot_answer_ends_with_1() {
    let other = Upstream::start().await;
    let ended = run(&Folder::new(), &format!("check --server {} api_key=k1", other.address)).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let tidegate = Tidegate::with(RULES).await;
    let long = "k".repeat(60_000);
    let ended = run(&tidegate.rules, &format!("check --server {} api_key={long}", tidegate.http)).await;
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    assert!(ended.said.contains("400") && !ended.said.contains(&long), "{}", ended.said);
}

/// The id that a check prints.
fn printed_id(printed: &str) -> &str {
    let line = printed.lines().find_map(|line| line.trim().strip_prefix("id "));
    line.unwrap_or_else(|| panic!("no id in {printed}"))
}

#[tokio::test]
async fn check_names_rule_and_id() {
    let tidegate = Tidegate::with(RULES).await;
    let check = format!("check --server {} api_key=k1", tidegate.http);
    run(&tidegate.rules, &format!("{check} --cost 2")).await;
    let refused = run(&tidegate.rules, &check).await;
    assert!(refused.printed.starts_with("deny by per-key (api_key-rate)\n"), "{refused:?}");
    assert_eq!(printed_id(&refused.printed).len(), 32, "{refused:?}");
    assert!(refused.printed.contains("again in 60 min") || refused.printed.contains(" h"), "{refused:?}");
}

#[tokio::test]
async fn held_decisions_are_settled() {
    let rules = "domain: api\nrules:\n  - { name: exports, by: [api_key], limit: 1 concurrent }\n  \
        - { name: units, match: { path: /units }, by: [user], limit: 100/h }\n";
    let tidegate = Tidegate::with(rules).await;
    let check = format!("check --server {} api_key=k1", tidegate.http);
    let first = run(&tidegate.rules, &check).await;
    assert_eq!(run(&tidegate.rules, &check).await.code, Some(5), "the slot is taken");
    let release = format!("release {} --server {}", printed_id(&first.printed), tidegate.http);
    let released = run(&tidegate.rules, &release).await;
    assert_eq!((released.code, released.printed.as_str()), (Some(0), "released\n"), "{released:?}");
    assert_eq!(run(&tidegate.rules, &check).await.code, Some(0), "the slot is free again");
    let again = run(&tidegate.rules, &release).await;
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.said.contains("there is nothing under that id"), "{again:?}");

    let reserve = || async {
        let asked = json!({ "attributes": { "user": "ada", "path": "/units" }, "cost": 10 });
        let answer = tidegate.post("/v1/reserve", asked).await.expect(200).json();
        answer["id"].as_str().unwrap().to_owned()
    };
    let left = || async {
        let asked = json!({ "attributes": { "user": "ada", "path": "/units" } });
        tidegate.post("/v1/peek", asked).await.expect(200).json()["limits"][0]["remaining"].clone()
    };
    let commit = format!("commit {} --cost 3 --server {} --format json", reserve().await, tidegate.http);
    let committed = run(&tidegate.rules, &commit).await;
    assert_eq!(committed.printed, "{\n  \"settled\": true\n}\n", "{committed:?}");
    assert_eq!(left().await, 97);
    let cancelled =
        run(&tidegate.rules, &format!("cancel {} --server {}", reserve().await, tidegate.http)).await;
    assert_eq!((cancelled.code, left().await), (Some(0), json!(97)), "{cancelled:?}");
    let nothing =
        run(&tidegate.rules, &format!("commit {} --server {}", "0".repeat(32), tidegate.http)).await;
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
}

#[tokio::test]
async fn unknown_domain_is_an_error() {
    let tidegate = Tidegate::with(RULES).await;
    for (command, address) in [("check", tidegate.http), ("explain", tidegate.admin)] {
        let ended =
            run(&tidegate.rules, &format!("{command} --domain apo --server {address} api_key=k1")).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(
            ended.said.contains("no domain `apo`") && ended.said.contains("did you mean `api`?"),
            "{ended:?}"
        );
    }
    let told =
        |line: &str| (line.contains("no such domain") && line.contains("apo")).then(|| line.to_owned());
    let line = tidegate.program.line("the unknown domain", told).await;
    assert!(line.contains("\"meant\":\"api\""), "{line}");
    let metrics = tidegate.metrics().await;
    assert!(metrics.contains("ratelimit_unknown_domain_total{domain=\"apo\"} 1\n"), "{metrics}");
}

#[tokio::test]
async fn commands_reserve_and_commit() {
    let rules = "domain: api\nrules: [{ name: tpm, by: [user], limit: 1000/h, cost: tokens }]\n";
    let tidegate = Tidegate::with(rules).await;
    let ask =
        async |command: &str| run(&tidegate.rules, &format!("{command} --server {}", tidegate.http)).await;
    let reserved = ask("check --reserve user=a tokens=900").await;
    assert!(reserved.code == Some(0) && reserved.printed.contains("100 of 1000 left"), "{reserved:?}");
    let id = printed_id(&reserved.printed).to_owned();
    let committed = ask(&format!("commit {id} tokens=400")).await;
    assert_eq!(committed.code, Some(0), "{committed:?}");
    let peeked = ask("check --peek --cost 0 user=a").await;
    assert!(peeked.printed.contains("600 of 1000 left"), "{peeked:?}");
    assert_eq!(ask(&format!("commit {id} tokens=400")).await.code, Some(1));
}
