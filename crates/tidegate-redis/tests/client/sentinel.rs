//! Sentinel: the master that is named is the one that is asked.

use std::time::Duration;

use tidegate_redis::Fault;
use tidegate_rig::Sentinels;

use crate::stage::{LONG, at_most, client, count, hasty, ready, recovers, turn, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_master_is_replaced() {
    let _turn = turn().await;
    let mut group = Sentinels::start(1000);
    let client = ready(client(&group.url())).await;
    assert_eq!(count(&client, "a").await, Ok(1));
    group.servers[0].kill();
    assert_eq!(count(&client, "a").await.unwrap_err().fault, Fault::Disconnected);
    let (took, _) = at_most(Duration::from_secs(50), recovers(&client, "a")).await;
    println!("a dead master was replaced after {took:?}");
    assert_eq!(group.master(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hung_master_is_left_like_a_dead_one() {
    let _turn = turn().await;
    let group = Sentinels::start(1000);
    let client = ready(hasty(&group.url())).await;
    recovers(&client, "a").await;
    group.servers[0].hang();
    let error = at_most(LONG, count(&client, "a")).await.unwrap_err();
    assert_eq!(error.fault, Fault::TimedOut);
    let recovered = tokio::time::timeout(Duration::from_secs(50), recovers(&client, "a")).await;
    let (took, _) = recovered.unwrap_or_else(|_| {
        let said = |server: &tidegate_rig::Server| {
            std::fs::read_to_string(server.folder().join("output")).unwrap_or_default()
        };
        let logs: Vec<String> = group.sentinels.iter().map(said).collect();
        panic!("sentinels name {:?}; {:?}\n{}", group.master(), client.report(), logs.join("\n---\n"))
    });
    println!("a hung master was left after {took:?}");
    group.servers[0].resume();
    recovers(&client, "a").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_becomes_a_replica_is_left() {
    let _turn = turn().await;
    let group = Sentinels::start(1000);
    let client = ready(client(&group.url())).await;
    assert_eq!(count(&client, "a").await, Ok(1));
    group.sentinels[0].ask::<()>(&["SENTINEL", "FAILOVER", "tide"]);
    until("the other to be master", async || (group.master() == Some(1)).then_some(())).await;
    at_most(Duration::from_secs(30), recovers(&client, "a")).await;
    let served = || group.servers[1].ask::<String>(&["INFO", "commandstats"]).contains("cmdstat_evalsha");
    until("the new master to be asked", async || {
        count(&client, "a").await.ok();
        served().then_some(())
    })
    .await;
}
