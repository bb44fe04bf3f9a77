//! A tenant with a server of its own: what happens to that one is felt by nobody else.

use tidegate_rig::Server;

use super::stage::{NODES, Stage};
use super::turn;
use crate::folder::Folder;
use crate::patience::until;

const RULES: &str = "
domain: api
tenant: org
rules:
  - { name: daily, by: [api_key], limit: 30/d }
";

const LIMIT: usize = 30;
const USED: usize = 20;
const ACME: (&str, &str, &str) = ("", "k1", "acme");
const OTHERS: (&str, &str, &str) = ("", "k1", "beta");

#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_own_server_that_goes_and_comes_back_empty() {
    let _turn = turn().await;
    let (all, mut own) = (Server::start(), Server::start());
    let folder = Folder::new();
    folder.write(
        "tidegate.yaml",
        &format!("store: {}\nstores: {{ api/acme: \"{}\" }}\n", all.url(), own.url()),
    );
    let stage = Stage::configured(RULES, folder.file("tidegate.yaml").to_str().unwrap()).await;
    for tenant in [ACME, OTHERS] {
        assert_eq!(stage.admitted(USED, tenant), USED);
    }

    own.kill();
    let (plan, key, org) = ACME;
    let mut alone = 0;
    for node in 0..NODES {
        let said = until("a node to go on alone", async || {
            let said = stage.ask(node, plan, "another", org);
            (said.state == "local").then_some(said)
        });
        assert_eq!(said.await.status, 200);
        let said = stage.ask(node, plan, key, org);
        assert_eq!(said.state, "local");
        alone += usize::from(said.status == 200);
    }
    assert_eq!(alone, NODES, "each has a third of what is left");
    assert_eq!(stage.admitted(3, OTHERS), 3, "the others do not notice");

    own.restart_empty();
    stage.all_say("ratelimit_store_losses_total 1").await;
    stage.all_say("ratelimit_debts 0").await;
    stage.all_say("ratelimit_counters_untold 0").await;
    until("all to be exact", async || {
        (0..NODES).all(|node| stage.ask(node, plan, "another", org).is_exact()).then_some(())
    })
    .await;
    let rest = stage.admitted(LIMIT, ACME);
    let left = LIMIT - USED - alone;
    // A node that has not heard of the last units tells fewer, and what others paid before counts as a part of the rest.
    assert!((left..=left + NODES).contains(&rest), "{rest} of {left}");
    assert_eq!(stage.admitted(LIMIT, OTHERS), LIMIT - USED - 3);
}
