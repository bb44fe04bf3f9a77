//! What networks do to bytes: a proxy between client and server that delays, swallows, cuts and garbles. Whatever it does, no call
//! waits longer than its deadline, and none runs twice.

use std::time::Duration;

use tidegate_redis::{CallError, Caller, Client, Fault};
use tidegate_rig::{Manner, Proxy, Server};

use crate::stage::{SHORT, at_most, count, each, hasty, ready, recovers, turn};

struct Line {
    server: Server,
    proxy: Proxy,
    client: Client,
}

async fn line() -> Line {
    let server = Server::start();
    let proxy = Proxy::before(server.port());
    let client = ready(hasty(&format!("redis://{}", proxy.address()))).await;
    recovers(&client, "warm").await;
    Line { server, proxy, client }
}

impl Line {
    /// What comes of one call that was sent while the proxy behaves like this, and the key that it counts.
    async fn one(&self, manner: Manner) -> (CallError, String) {
        for number in 0..100 {
            let key = format!("key-{number}");
            self.proxy.be(manner.clone());
            let error = at_most(SHORT * 10, count(&self.client, &key)).await.unwrap_err();
            if error.may_have_run {
                return (error, key);
            }
            // The connection was looked at just then, and found to be no good.
            assert_eq!(self.ran(&key), 0);
            self.heals().await;
        }
        panic!("no call is ever sent")
    }

    /// How often a call for this key ran.
    fn ran(&self, key: &str) -> i64 {
        self.server.ask::<Option<i64>>(&["GET", key]).unwrap_or(0)
    }

    async fn heals(&self) {
        self.proxy.be(Manner::Honest);
        recovers(&self.client, "warm").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_swallowed_times_out_and_may_have_run() {
    let _turn = turn().await;
    let line = line().await;
    let (error, key) = line.one(Manner::Deaf).await;
    assert_eq!((error.fault, line.ran(&key)), (Fault::TimedOut, 0));
    line.heals().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_swallowed_times_out_and_is_not_asked_for_again() {
    let _turn = turn().await;
    let line = line().await;
    let (error, key) = line.one(Manner::Mute).await;
    assert_eq!(error.fault, Fault::TimedOut);
    line.heals().await;
    assert_eq!(line.ran(&key), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_too_late_is_not_waited_for() {
    let _turn = turn().await;
    let line = line().await;
    let (error, key) = line.one(Manner::Late(5 * SHORT)).await;
    assert_eq!(error.fault, Fault::TimedOut);
    line.heals().await;
    assert_eq!(line.ran(&key), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_cut_before_the_answer_is_not_tried_again() {
    let _turn = turn().await;
    let line = line().await;
    let (error, key) = line.one(Manner::Cutting).await;
    assert_eq!(error.fault, Fault::Disconnected);
    line.heals().await;
    assert_eq!(line.ran(&key), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_garbled_is_not_believed() {
    let _turn = turn().await;
    let line = line().await;
    let (error, key) = line.one(Manner::Garbling).await;
    assert!(matches!(error.fault, Fault::Garbled | Fault::Disconnected), "{error}");
    line.heals().await;
    assert_eq!(line.ran(&key), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_accepts_and_closes_is_no_server() {
    let _turn = turn().await;
    let line = line().await;
    line.proxy.be(Manner::Closed);
    line.proxy.cut();
    let tried = line.proxy.connections();
    let error = at_most(SHORT * 10, count(&line.client, "a")).await.unwrap_err();
    assert!(matches!(error.fault, Fault::Disconnected | Fault::Resting), "{error}");
    let more = || (line.proxy.connections() > tried + 2).then_some(());
    crate::stage::until("it to be tried again", async || more()).await;
    line.heals().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_another_kind_is_not_believed_when_calls_are_joined() {
    let _turn = turn().await;
    let line = line().await;
    line.proxy.be(Manner::Answering("-LOADING for a while\r\n".to_owned()));
    let error = at_most(SHORT * 10, line.client.call(each("a"))).await.unwrap_err();
    assert_eq!((error.fault, error.may_have_run), (Fault::Refused("LOADING"), false));
    line.heals().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_any_weather_nothing_runs_twice() {
    let _turn = turn().await;
    let line = line().await;
    let weathers =
        [Manner::Cutting, Manner::Honest, Manner::Garbling, Manner::Mute, Manner::Deaf, Manner::Late(SHORT)];
    let (mut surely, mut perhaps) = (0, 0);
    for round in 0..2 * weathers.len() {
        line.proxy.be(weathers[round % weathers.len()].clone());
        for _ in 0..4 {
            match at_most(SHORT * 10, count(&line.client, "a")).await {
                Ok(_) => surely += 1,
                Err(error) => perhaps += i64::from(error.may_have_run),
            }
        }
        line.heals().await;
    }
    let ran = line.server.ask::<i64>(&["GET", "a"]);
    assert!((surely..=surely + perhaps).contains(&ran), "{surely} surely, {perhaps} perhaps, {ran} in fact");
    assert!(at_most(Duration::from_secs(10), recovers(&line.client, "a")).await.1 <= perhaps);
}
