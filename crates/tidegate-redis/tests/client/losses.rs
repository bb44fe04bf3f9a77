//! Servers that come back without their counters: each is noticed by itself.

use std::time::Duration;

use tidegate_core::{Key, KeyBuf};
use tidegate_redis::{Client, Marks, Redis, Routed, Settings, Shard};
use tidegate_rig::{Cluster, Server, slot_of_tag};

use crate::stage::{client, ready, turn, until};

/// Nobody is replaced before it is back.
const NODE_TIMEOUT_MS: u32 = 30_000;

type Store = Redis<Routed<Client>>;

fn key(tenant: &str) -> KeyBuf {
    Key { home: &[b"api", tenant.as_bytes()], own: &[b"rule"] }.encode().unwrap()
}

/// A Cluster for all, and a server of its own for one tenant.
async fn store(cluster: &Cluster, own: &Server) -> Store {
    let settings = Settings::default();
    let mut routed = Routed::new(ready(client(&cluster.url())).await);
    routed.route(&settings, [&[b"api".as_slice(), b"acme"][..]], ready(client(&own.url())).await);
    Redis::new(routed, &settings)
}

async fn look(store: &Store, marks: &mut Marks) -> Vec<Shard> {
    store.look(marks, &format!("{:?}", std::time::Instant::now())).await.lost
}

/// Looks until a loss is noticed; for a server that is not there yet, nothing is.
async fn lost(store: &Store, marks: &mut Marks) -> Shard {
    let mut found =
        until("a loss", async || Some(look(store, marks).await).filter(|lost| !lost.is_empty())).await;
    assert_eq!(found.len(), 1);
    assert_eq!(look(store, marks).await, []);
    found.remove(0)
}

/// How many of a thousand tenants, and whether the one with a server of its own, have counters there.
fn live_on(store: &Store, shard: &Shard) -> (usize, bool) {
    let is_on = |number: &i32| store.is_on(shard, key(&number.to_string()).as_ref());
    ((0..1000).filter(is_on).count(), store.is_on(shard, key("acme").as_ref()))
}

fn marks_on(server: &Server) -> Vec<String> {
    server.ask(&["KEYS", "t:{*}mark"])
}

#[tokio::test(flavor = "multi_thread")]
async fn each_server_that_loses_its_counters_is_noticed_by_itself() {
    let _turn = turn().await;
    let (mut cluster, mut own) = (Cluster::start(NODE_TIMEOUT_MS), Server::start());
    let store = store(&cluster, &own).await;
    let (mut marks, mut others) = (Marks::default(), Marks::default());
    for marks in [&mut marks, &mut others] {
        assert_eq!(look(&store, marks).await, []);
        assert_eq!(look(&store, marks).await, []);
    }
    for server in cluster.nodes[..3].iter().chain([&own]) {
        let there = marks_on(server);
        assert_eq!(there.len(), 1, "one mark on each, whoever looks: {there:?}");
        let left_ms: i64 = server.ask(&["PTTL", &there[0]]);
        assert!(left_ms > Duration::from_secs(86_400).as_millis().try_into().unwrap(), "{left_ms}");
    }

    own.kill();
    let looked = store.look(&mut marks, "").await;
    assert_eq!((looked.lost.len(), looked.silent.len()), (0, 1), "silence is no loss");
    own.restart_empty();
    let shard = lost(&store, &mut marks).await;
    assert_eq!((shard.name(), live_on(&store, &shard)), (own.address().as_str(), (0, true)));

    cluster.nodes[1].restart_empty();
    let shard = lost(&store, &mut marks).await;
    assert_eq!(shard.name(), cluster.nodes[1].address());
    let (some, acme) = live_on(&store, &shard);
    assert!((200..500).contains(&some) && !acme, "a third of them: {some}");

    // The other node has not looked meanwhile, and finds both.
    let found = look(&store, &mut others).await;
    assert_eq!(found.iter().map(Shard::name).collect::<Vec<_>>().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_moves_with_its_slot_and_is_not_missed() {
    let _turn = turn().await;
    let (mut cluster, own) = (Cluster::start(NODE_TIMEOUT_MS), Server::start());
    let store = store(&cluster, &own).await;
    let mut marks = Marks::default();
    look(&store, &mut marks).await;
    let mark = marks_on(&cluster.nodes[0]).remove(0);
    let slot = slot_of_tag(mark.trim_start_matches("t:{").split('}').next().unwrap());
    cluster.begin_to_move(slot, 0, 1);
    assert_eq!(look(&store, &mut marks).await, []);
    cluster.move_key(&mark, 0, 1);
    assert_eq!(look(&store, &mut marks).await, [], "it is found where it is on its way to");
    cluster.finish_move(slot, 0, 1);
    until("a mark of its own", async || {
        assert_eq!(look(&store, &mut marks).await, []);
        (!marks_on(&cluster.nodes[0]).is_empty()).then_some(())
    })
    .await;
    cluster.nodes[0].restart_empty();
    assert_eq!(lost(&store, &mut marks).await.name(), cluster.nodes[0].address());
}
