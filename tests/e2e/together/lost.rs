//! A master of a Cluster that comes back without its counters, and is not the one that has the list of nodes.

use std::time::Duration;

use tidegate_rig::{Cluster, slot_of_tag};

use super::stage::Stage;
use super::traffic::LIMIT;
use super::turn;

/// Nobody takes its place before it is back.
const NODE_TIMEOUT_MS: u32 = 30_000;

/// A master that was started again waits a few seconds before it takes anything.
const BACK: Duration = Duration::from_secs(30);

const KEYS: usize = 30;
const USED: usize = 20;

/// How many of so many requests pass for each key.
fn admitted(stage: &Stage, times: usize) -> Vec<usize> {
    let of = |key: usize| stage.admitted(times, ("security", &format!("lost-{key}"), ""));
    (0..KEYS).map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_restarts_empty_is_told_what_it_had() {
    let _turn = turn().await;
    let mut cluster = Cluster::start(NODE_TIMEOUT_MS);
    let stage = Stage::on(&cluster.url()).await;
    assert_eq!(admitted(&stage, USED), [USED; KEYS]);
    let with_the_list = cluster.master_of(slot_of_tag("members"), None).unwrap();
    let empty = cluster.other_master(with_the_list);
    let there: usize = cluster.nodes[empty].ask(&["DBSIZE"]);
    assert!(there > 1, "it has keys of some callers beside its mark");
    cluster.nodes[empty].restart_empty();
    stage.all_say("ratelimit_store_losses_total 1").await;
    stage.recovers("lost", BACK).await;
    stage.all_say("ratelimit_counters_untold 0").await;
    // Nobody asked for them between the loss and the telling: nothing is admitted beyond the limit.
    assert_eq!(admitted(&stage, LIMIT), [LIMIT - USED; KEYS]);
}
