//! `tidegate check`, which asks a running server.

use serde_json::Value;
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
