//! `tidegate nodes`: nodes compare their rules by what the files say.

use tidegate_rig::Server;

use super::turn;
use crate::command_line::run;
use crate::folder::Folder;
use crate::patience::until;
use crate::tidegate::Tidegate;

const RULES: &str = "domain: api\nrules: [{ name: per-key, by: [api_key], limit: 5/s }]\n";
const DIFFERENT: &str = "do not have the same rules";

/// What a node lists once it has heard of two.
async fn listed(node: &Tidegate, is_done: impl Fn(&str) -> bool) -> String {
    until("two nodes in the list", async || {
        let ended = run(&node.rules, &format!("nodes --server {}", node.admin)).await;
        (ended.printed.matches("ago").count() == 2 && is_done(&ended.printed)).then_some(ended.printed)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_compare_rules_by_hash() {
    let _turn = turn().await;
    let redis = Server::start();
    let url = redis.url();
    let settings = [("TIDEGATE_STORE", url.as_str())];
    let one = Tidegate::set_up(Folder::of(RULES), &settings).await;
    let other = Tidegate::set_up(Folder::of(&format!("{RULES}# one reload more\n")), &settings).await;
    listed(&one, |said| said.contains(DIFFERENT)).await;
    other.rules.replace("api.yaml", RULES);
    let said = listed(&one, |said| !said.contains(DIFFERENT)).await;
    let hashes: Vec<_> = said.lines().skip(1).filter_map(|line| line.split_whitespace().nth(5)).collect();
    assert_eq!((hashes.len(), hashes[0].len(), hashes[0]), (2, 8, hashes[1]), "{said}");
}
