//! A Cluster: slots that are found, move and change their masters.

use std::time::Duration;

use redis::Value;
use tidegate_redis::{CallError, Caller, Client, Fault};
use tidegate_rig::{Cluster, Flavour, Options, patience, slot_of_tag};

use crate::stage::{
    LONG, all, at_most, client, client_with, count, fails_with, hasty, one, ready, recovers, turn, two,
};

/// Tags, one for each master.
const TAGS: [&str; 3] = ["b", "c", "a"];

fn master(cluster: &Cluster, tag: &str) -> usize {
    cluster.master_of(slot_of_tag(tag), None).unwrap()
}

async fn counted(client: &Client, tag: &str, key: &str) -> Result<i64, CallError> {
    count(client, &format!("{{{tag}}}{key}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_are_found_and_followed_when_they_move() {
    let _turn = turn().await;
    for flavour in [Flavour::Redis, Flavour::Valkey] {
        follows_slots(&Cluster::with(&Options { flavour, ..Options::default() }, 2000)).await;
    }
}

async fn follows_slots(cluster: &Cluster) {
    // One that would never look by itself.
    let slow =
        |settings: &mut tidegate_redis::client::Settings| settings.look_around = Duration::from_secs(3600);
    let client = ready(client_with(&format!("redis-cluster://{}", cluster.nodes[0].address()), slow)).await;
    for tag in TAGS {
        assert_eq!(counted(&client, tag, "x").await, Ok(1));
    }
    carries_a_crowd(cluster, &client).await;
    assert!(client.are_neighbours(b"a", b"a") && !client.are_neighbours(b"a", b"b"));

    let (slot, from) = (slot_of_tag("a"), master(cluster, "a"));
    let to = cluster.other_master(from);
    assert_eq!(counted(&client, "a", "y").await, Ok(1));
    cluster.begin_to_move(slot, from, to);
    // A key that is still there, one that has gone ahead, and one that does not exist yet.
    assert_eq!(counted(&client, "a", "x").await, Ok(2));
    cluster.move_key("{a}x", from, to);
    assert_eq!(counted(&client, "a", "x").await, Ok(3));
    assert_eq!(counted(&client, "a", "new").await, Ok(1));
    // A forgotten script on the way.
    cluster.nodes[to].ask::<()>(&["SCRIPT", "FLUSH"]);
    assert_eq!(counted(&client, "a", "x").await, Ok(4));

    // Two keys on two servers.
    let error = client.call(two("{a}x", "{a}y")).await.unwrap_err();
    assert_eq!((error.fault, error.may_have_run), (Fault::Refused("TRYAGAIN"), false));

    cluster.finish_move(slot, from, to);
    assert_eq!(counted(&client, "a", "x").await, Ok(5), "nothing ran on the way that was refused");
    assert!(client.call(two("{a}x", "{a}y")).await.is_ok());
}

/// Calls of all slots at once, to servers that have forgotten the script.
async fn carries_a_crowd(cluster: &Cluster, client: &Client) {
    for node in &cluster.nodes[..3] {
        node.ask::<()>(&["SCRIPT", "FLUSH"]);
    }
    let keys = || (0..300).map(|number| format!("{{{}}}crowd", TAGS[number % 3]));
    let outcomes = all(client, keys().map(|key| one(&key))).await;
    let mut counts: Vec<Value> = outcomes.into_iter().map(Result::unwrap).collect();
    counts.sort_by_key(|count| if let Value::Int(count) = count { *count } else { 0 });
    let expected: Vec<Value> =
        (1..=100).flat_map(|count| [Value::Int(count), Value::Int(count), Value::Int(count)]).collect();
    assert_eq!(counts, expected, "each key was counted once per call");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_master_is_replaced_and_others_do_not_notice() {
    let _turn = turn().await;
    let mut cluster = Cluster::start(1000);
    let client = ready(client(&cluster.url())).await;
    let dead = master(&cluster, "a");
    let other = TAGS.into_iter().find(|tag| master(&cluster, tag) != dead).unwrap();
    assert_eq!(counted(&client, "a", "x").await, Ok(1));
    cluster.nodes[dead].kill();
    assert_eq!(counted(&client, "a", "x").await.unwrap_err().fault, Fault::Disconnected);
    assert_eq!(counted(&client, other, "x").await, Ok(1));
    let (took, _) = at_most(Duration::from_secs(30), recovers(&client, "{a}x")).await;
    println!("a dead master was replaced after {took:?}");
    assert_eq!(counted(&client, other, "x").await, Ok(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hung_master_is_left_like_a_dead_one() {
    let _turn = turn().await;
    let cluster = Cluster::start(1000);
    let client = ready(hasty(&cluster.url())).await;
    let hung = master(&cluster, "a");
    let other = TAGS.into_iter().find(|tag| master(&cluster, tag) != hung).unwrap();
    recovers(&client, "{a}x").await;
    cluster.nodes[hung].hang();
    let error = at_most(LONG, counted(&client, "a", "x")).await.unwrap_err();
    assert_eq!(error.fault, Fault::TimedOut);
    recovers(&client, &format!("{{{other}}}x")).await;
    let (took, _) = at_most(Duration::from_secs(30), recovers(&client, "{a}x")).await;
    println!("a hung master was left after {took:?}");
    assert_ne!(cluster.master_of(slot_of_tag("a"), Some(hung)), Some(hung));
    cluster.nodes[hung].resume();
    recovers(&client, "{a}x").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_not_whole_says_so() {
    let _turn = turn().await;
    let mut cluster = Cluster::start(500);
    for node in &cluster.nodes {
        node.set("cluster-require-full-coverage", "yes");
    }
    let client = ready(client_with(&cluster.url(), |settings| settings.deadline = LONG)).await;
    let gone = master(&cluster, "a");
    let other = TAGS.into_iter().find(|tag| master(&cluster, tag) != gone).unwrap();
    for number in [gone, gone + 3] {
        cluster.nodes[number].kill();
    }
    let error = fails_with(&client, &format!("{{{other}}}x"), Fault::Refused("CLUSTERDOWN")).await;
    assert!(!error.may_have_run);
    for number in [gone, gone + 3] {
        cluster.nodes[number].restart();
    }
    patience::until("the cluster to be whole", || cluster.master_of(slot_of_tag("a"), None));
    recovers(&client, &format!("{{{other}}}x")).await;
    recovers(&client, "{a}x").await;
}
