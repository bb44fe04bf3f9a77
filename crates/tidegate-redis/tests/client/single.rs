//! One server: that it answers, forgets its scripts, hangs, dies and comes back.

use std::time::Duration;

use tidegate_core::breaker::Circuit;
use tidegate_redis::{Call, Caller, Fault, Priority};
use tidegate_rig::{Flavour, Options, Server};

use crate::scripts::ONE;
use crate::stage::{
    LONG, at_most, client, client_with, count, fails_with, hasty, one, ready, recovers, turn, until,
};

#[tokio::test(flavor = "multi_thread")]
async fn scripts_run_on_redis_and_valkey() {
    let _turn = turn().await;
    for flavour in [Flavour::Redis, Flavour::Valkey] {
        let server = Server::with(&Options { flavour, ..Options::default() });
        let client = ready(client(&format!("{}/3", server.url()))).await;
        assert_eq!(count(&client, "a").await, Ok(1));
        assert_eq!(count(&client, "a").await, Ok(2));
        assert!(server.ask::<String>(&["INFO", "keyspace"]).contains("db3:keys=1"));
        assert!(client.are_neighbours(b"a", b"b"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_script_is_sent_again_and_runs_once() {
    let _turn = turn().await;
    let server = Server::start();
    let client = ready(client(&server.url())).await;
    assert_eq!(
        server.ask::<Vec<u8>>(&["SCRIPT", "EXISTS", ONE.sha]),
        [1],
        "it is loaded before it is needed"
    );
    assert_eq!(count(&client, "a").await, Ok(1));
    server.ask::<()>(&["SCRIPT", "FLUSH"]);
    assert_eq!(count(&client, "a").await, Ok(2));
    assert_eq!(server.ask::<Vec<u8>>(&["SCRIPT", "EXISTS", ONE.sha]), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_died_is_left_at_once_and_found_again_empty() {
    let _turn = turn().await;
    let mut server = Server::start();
    let client = ready(client(&server.url())).await;
    assert_eq!(count(&client, "a").await, Ok(1));
    server.kill();
    assert_eq!(count(&client, "a").await.unwrap_err().fault, Fault::Disconnected);
    let error = fails_with(&client, "a", Fault::Resting).await;
    assert!(!error.may_have_run);
    assert_eq!(error.shard, server.address());
    at_most(LONG, count(&client, "a")).await.unwrap_err();
    server.restart_empty();
    recovers(&client, "a").await;
    assert_eq!(server.ask::<i64>(&["GET", "a"]), 1);
    assert_eq!(
        server.ask::<Vec<u8>>(&["SCRIPT", "EXISTS", ONE.sha]),
        [1],
        "scripts are loaded with the connection"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_rests_and_comes_back_and_nothing_runs_twice() {
    let _turn = turn().await;
    let server = Server::start();
    let client = ready(hasty(&server.url())).await;
    recovers(&client, "a").await;
    let before: i64 = server.ask(&["GET", "a"]);
    server.hang();
    let mut perhaps = 0;
    for _ in 0..5 {
        let error = at_most(LONG, count(&client, "a")).await.unwrap_err();
        assert!(matches!(error.fault, Fault::TimedOut), "{error}");
        perhaps += i64::from(error.may_have_run);
    }
    let error = count(&client, "a").await.unwrap_err();
    assert!(matches!(error.fault, Fault::Resting), "{error}");
    let report = client.report();
    assert_eq!(report[0].circuit, Some(Circuit::Open));
    assert_eq!((report[0].late, report[0].errors["timeout"], report[0].errors["resting"]), (5, 5, 1));
    assert_eq!(report[0].transitions[1], (Circuit::Open, 1));
    server.resume();
    let (_, since) = recovers(&client, "a").await;
    let after: i64 = server.ask(&["GET", "a"]);
    assert!(
        (1..=1 + perhaps + since).contains(&(after - before)),
        "{before} then {after}, {perhaps} and {since} perhaps"
    );
    until("the circuit to close", async || {
        (client.report()[0].circuit == Some(Circuit::Closed)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_can_have_less_time() {
    let _turn = turn().await;
    let server = Server::start();
    let client = ready(client(&server.url())).await;
    server.hang();
    let call = Call { deadline: Some(Duration::from_millis(5)), ..one("a") };
    let error = at_most(LONG, client.call(call)).await.unwrap_err();
    assert_eq!((error.fault, error.may_have_run), (Fault::TimedOut, true));
    server.resume();
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_give_way_by_priority_when_too_many_are_under_way() {
    let _turn = turn().await;
    let server = Server::start();
    let client = client_with(&server.url(), |settings| {
        settings.calls_in_flight = 8;
        settings.deadline = Duration::from_millis(300);
        settings.tolerance.timeouts = 100;
        settings.tolerance.calls = 100;
    });
    let client = ready(client).await;
    server.hang();
    let with = |priority| client.call(Call { priority, ..one("a") });
    let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(with(Priority::Comfort))).collect();
    for call in &mut waiting {
        assert!(futures_poll(call.as_mut()).await.is_none());
    }
    assert_eq!(with(Priority::Comfort).await.unwrap_err().fault, Fault::Crowded);
    for priority in [Priority::Cost, Priority::Cost, Priority::Strict, Priority::Security] {
        let mut call = Box::pin(with(priority));
        assert!(futures_poll(call.as_mut()).await.is_none());
        waiting.push(call);
    }
    for priority in [Priority::Cost, Priority::Strict, Priority::Security] {
        assert_eq!(with(priority).await.unwrap_err().fault, Fault::Crowded);
    }
    for call in waiting {
        assert_eq!(call.await.unwrap_err().fault, Fault::TimedOut);
    }
    server.resume();
}

/// Polls once.
async fn futures_poll<F: Future + ?Sized>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_gone_leaves_no_connection() {
    let _turn = turn().await;
    let server = Server::start();
    let connections = || server.ask::<String>(&["CLIENT", "LIST"]).lines().count();
    let client = ready(client_with(&server.url(), |settings| settings.connections = 3)).await;
    count(&client, "a").await.unwrap();
    assert_eq!(connections(), 4, "three of the client and the one that asks");
    drop(client);
    until("the connections to end", async || (connections() == 1).then_some(())).await;
}
