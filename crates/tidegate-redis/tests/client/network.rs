//! What networks do to bytes: a proxy between client and server that delays, swallows, cuts and garbles. Whatever it does, no call
//! waits longer than its deadline, and none runs twice.

use std::time::Duration;

use tidegate_redis::{CallError, Caller, Client, Fault};
use tidegate_rig::{Manner, Proxy, Server};

use crate::stage::{LONG, SHORT, at_most, client, count, each, hasty, ready, recovers, turn};

struct Line {
    server: Server,
    proxy: Proxy,
    client: Client,
}

async fn line() -> Line {
    line_of(hasty).await
}

async fn line_of(client: fn(&str) -> Client) -> Line {
    let server = Server::start();
    let proxy = Proxy::before(server.port());
    let client = ready(client(&format!("redis://{}", proxy.address()))).await;
    recovers(&client, "warm").await;
    Line { server, proxy, client }
}

impl Line {
    /// What comes of a call that was sent while the proxy behaves like this, and that ran or did not run as is wanted: a look at
    /// the connection at the wrong moment can find it broken before the call is on its way.
    async fn one(&self, manner: Manner, wanted: i64) -> CallError {
        for number in 0..100 {
            let key = format!("key-{number}");
            self.proxy.be(manner.clone());
            let error = at_most(LONG, count(&self.client, &key)).await.unwrap_err();
            self.heals().await;
            let ran = self.server.ask::<Option<i64>>(&["GET", &key]).unwrap_or(0);
            assert!(ran <= i64::from(error.may_have_run), "it ran {ran} times: {error:?}");
            if error.may_have_run && ran == wanted {
                return error;
            }
        }
        panic!("no call is ever sent")
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
    assert_eq!(line.one(Manner::Deaf, 0).await.fault, Fault::TimedOut);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_swallowed_times_out_and_is_not_asked_for_again() {
    let _turn = turn().await;
    let line = line().await;
    assert_eq!(line.one(Manner::Mute, 1).await.fault, Fault::TimedOut);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_too_late_is_not_waited_for() {
    let _turn = turn().await;
    let line = line().await;
    assert_eq!(line.one(Manner::Late(5 * SHORT), 1).await.fault, Fault::TimedOut);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_cut_before_the_answer_is_not_tried_again() {
    let _turn = turn().await;
    let line = line().await;
    assert_eq!(line.one(Manner::Cutting, 1).await.fault, Fault::Disconnected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_garbled_is_not_believed() {
    let _turn = turn().await;
    let line = line().await;
    let error = line.one(Manner::Garbling, 1).await;
    assert!(matches!(error.fault, Fault::Garbled | Fault::Disconnected), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_accepts_and_closes_is_no_server() {
    let _turn = turn().await;
    let line = line().await;
    line.proxy.be(Manner::Closed);
    line.proxy.cut();
    let tried = line.proxy.connections();
    let error = at_most(LONG, count(&line.client, "a")).await.unwrap_err();
    assert!(matches!(error.fault, Fault::Disconnected | Fault::Resting), "{error}");
    let more = || (line.proxy.connections() > tried + 2).then_some(());
    crate::stage::until("it to be tried again", async || more()).await;
    line.heals().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_believed_whoever_says_it() {
    let _turn = turn().await;
    let line = line_of(client).await;
    line.proxy.be(Manner::Answering("-LOADING for a while\r\n".to_owned()));
    let error = line.client.call(each("a")).await.unwrap_err();
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
            match at_most(LONG, count(&line.client, "a")).await {
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
