//! What happens to a single Redis.

use std::time::Duration;

use serde_json::json;
use tidegate_rig::{Options, Server};

use super::bounds::Forgot;
use super::stage::{NODES, Stage, judge};
use super::traffic::{self, LIMIT};
use super::turn;
use crate::folder::Folder;
use crate::patience::until;
use crate::tidegate::Tidegate;

const SECOND: Duration = Duration::from_secs(1);

/// How long it takes at most until all is exact again: ten times what connections and circuits take.
const BACK: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_is_gone_for_five_seconds_and_comes_back_empty() {
    let _turn = turn().await;
    let mut redis = Server::start();
    let stage = Stage::on(&redis.url()).await;
    let load = stage.load("gone");
    load.go_on(2 * SECOND);
    let lost = load.age();
    redis.kill();
    load.go_on(5 * SECOND);
    redis.restart_empty();
    let recovered = stage.recovers("gone", BACK).await;
    let told = stage.has_told(&load).await;
    load.go_on(2 * SECOND);
    let figures = judge("gone for 5 s", &load.stop(), Forgot::All(lost, told), recovered);
    assert!(figures.local > 0 && figures.undecided > 0, "it was not missed: {figures:?}");
    assert!(figures.without < 5 * SECOND + BACK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_owes_something_can_be_stopped_while_redis_is_gone() {
    let _turn = turn().await;
    let mut redis = Server::start();
    let url = redis.url();
    let settings = [("TIDEGATE_STORE", url.as_str()), ("TIDEGATE_SHUTDOWN_LAME_DUCK", "0")];
    let node = Tidegate::set_up(Folder::of(&traffic::rules()), &settings).await;
    redis.kill();
    let question = json!({ "domain": "api", "attributes": { "plan": "comfort", "api_key": "k1" } });
    until("a debt", async || {
        node.post("/v1/check", &question).await.expect(200);
        node.metrics().await.contains("\nratelimit_debts 1\n").then_some(())
    })
    .await;
    node.program.signal("TERM").await;
    let (code, said) = node.program.end().await;
    assert_eq!(code, Some(0), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_restarts_empty() {
    let _turn = turn().await;
    let mut redis = Server::start();
    let stage = Stage::on(&redis.url()).await;
    let load = stage.load("empty");
    load.go_on(2 * SECOND);
    let lost = load.age();
    redis.restart_empty();
    let recovered = stage.recovers("empty", BACK).await;
    let told = stage.has_told(&load).await;
    load.go_on(2 * SECOND);
    judge("restart empty", &load.stop(), Forgot::All(lost, told), recovered);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_forgets_its_scripts() {
    let _turn = turn().await;
    let redis = Server::start();
    let stage = Stage::on(&redis.url()).await;
    let load = stage.load("flush");
    for _ in 0..5 {
        load.go_on(SECOND / 2);
        redis.ask::<()>(&["SCRIPT", "FLUSH"]);
    }
    load.go_on(SECOND / 2);
    let recovered = stage.recovers("flush", BACK).await;
    let figures = judge("SCRIPT FLUSH", &load.stop(), Forgot::Nothing, recovered);
    assert!(figures.exact > figures.answers / 4 * 3, "a script is sent again, not missed: {figures:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_whose_memory_is_full() {
    let _turn = turn().await;
    let redis = Server::with(&Options::default().line("maxmemory-policy", &"noeviction"));
    let stage = Stage::on(&redis.url()).await;
    let load = stage.load("full");
    load.go_on(2 * SECOND);
    redis.set("maxmemory", "1");
    load.go_on(3 * SECOND);
    redis.set("maxmemory", "0");
    let recovered = stage.recovers("full", BACK).await;
    load.go_on(SECOND);
    let figures = judge("maxmemory reached", &load.stop(), Forgot::Nothing, recovered);
    assert!(figures.local > 0 && figures.undecided > 0, "it was not noticed: {figures:?}");
}

/// A caller that one node serves has that node's part, no more and no less, and all of its limit once Redis is back.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_of_one_node_while_redis_is_gone() {
    let _turn = turn().await;
    let mut redis = Server::start();
    let stage = Stage::on(&redis.url()).await;
    let passes = |times: usize, key: &str, state: &str| {
        let passes = |_: &usize| {
            let said = stage.ask(0, "comfort", key, "");
            assert_eq!(said.state, state, "{key}");
            said.status == 200
        };
        (0..times).filter(passes).count()
    };
    assert_eq!(passes(6, "before", "exact"), 6);
    redis.kill();
    // Calls that were sent over a connection that is gone may have run and count as spent: until no more are, somebody else asks.
    let is_left_alone = format!("ratelimit_circuit_state{{shard=\"{}\",state=\"open\"}} 1", redis.address());
    let mut others = 0..;
    until("the node to go on alone", async || {
        let other = others.next().map(|number| format!("other-{number}"))?;
        assert_eq!(stage.ask(0, "comfort", &other, "").status, 200);
        stage.says(0, &is_left_alone).await.then_some(())
    })
    .await;
    let part = LIMIT / NODES;
    assert_eq!(passes(part, "modest", "local"), part, "who keeps to its part is not refused");
    assert_eq!(passes(LIMIT, "new", "local"), part);
    assert_eq!(
        passes(LIMIT, "before", "local"),
        part - 2,
        "a fifth of the limit was used, and is of the part"
    );
    redis.restart_empty();
    stage.recovers("part", BACK).await;
    stage.all_say("ratelimit_counters_untold 0").await;
    for (key, admitted) in [("modest", part), ("new", part), ("before", 6 + part - 2)] {
        assert_eq!(passes(LIMIT, key, "exact"), LIMIT - admitted, "{key} has its limit, and once");
    }
}
