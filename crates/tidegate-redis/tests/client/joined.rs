//! Calls that travel together.

use std::pin::pin;

use redis::Value;
use tidegate_redis::{Call, Caller, Client, Fault};
use tidegate_rig::Server;

use crate::stage::{Outcome, SHORT, all, at_most, client, each, each_by, hasty, ready, recovers, turn};

const CALLS: usize = 512;

/// So many calls at once, over a few keys.
async fn crowd(client: &Client, keys: usize) -> Vec<Outcome> {
    all(client, (0..CALLS).map(|number| each(&format!("key-{}", number % keys)))).await
}

fn told(outcome: Outcome) -> i64 {
    match outcome.unwrap() {
        Value::Array(parts) => match parts.as_slice() {
            [Value::Int(count)] => *count,
            other => panic!("{other:?} is not the one answer"),
        },
        other => panic!("{other:?} is no answer"),
    }
}

/// How often a command was sent.
fn sent(server: &Server, command: &str) -> usize {
    let stats: String = server.ask(&["INFO", "commandstats"]);
    let line = stats
        .lines()
        .find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls="))?.split(',').next());
    line.map_or(0, |calls| calls.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_is_joined_and_everybody_gets_their_own_answer() {
    let _turn = turn().await;
    let server = Server::start();
    let client = ready(client(&server.url())).await;
    let mut counts: Vec<i64> = crowd(&client, 4).await.into_iter().map(told).collect();
    counts.sort_unstable();
    let expected: Vec<i64> = (1..=i64::try_from(CALLS / 4).unwrap()).flat_map(|count| [count; 4]).collect();
    assert_eq!(counts, expected, "each key was counted once per call");
    let sent = sent(&server, "evalsha");
    assert!(sent <= CALLS / 4, "{CALLS} calls were sent as {sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_again_and_again_is_said_once_and_counts_for_each() {
    let _turn = turn().await;
    let server = Server::start();
    let client = ready(client(&server.url())).await;
    let received = |server: &Server| -> usize {
        let stats: String = server.ask(&["INFO", "stats"]);
        let line = stats.lines().find_map(|line| line.strip_prefix("total_net_input_bytes:"));
        line.unwrap().parse().unwrap()
    };
    let long = "0".repeat(999);
    let mut bytes = Vec::new();
    for every in [64, 1] {
        let before = received(&server);
        let more = |number: usize| format!("{long}{}", number / every % 2 + 1);
        let calls = (0..CALLS).map(|number| each_by(&format!("every-{every}"), &more(number)));
        for outcome in all(&client, calls).await {
            told(outcome);
        }
        let total = server.ask::<usize>(&["GET", &format!("every-{every}")]);
        assert_eq!(total, CALLS * 3 / 2, "half of them are one, and half are two");
        bytes.push(received(&server) - before);
    }
    assert!(bytes[0] * 4 < bytes[1], "{bytes:?} were sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lone_call_goes_alone() {
    let _turn = turn().await;
    let server = Server::start();
    let client = ready(client(&server.url())).await;
    for expected in 1..=3 {
        assert_eq!(told(client.call(each("a")).await), expected);
    }
    assert_eq!(sent(&server, "evalsha"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_script_concerns_all_and_runs_once_for_each() {
    let _turn = turn().await;
    let server = Server::start();
    let client = ready(client(&server.url())).await;
    server.ask::<()>(&["SCRIPT", "FLUSH"]);
    let total: usize = crowd(&client, 1).await.into_iter().map(told).count();
    assert_eq!(server.ask::<usize>(&["GET", "key-0"]), total);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waited_in_vain_to_be_sent_did_not_run() {
    let _turn = turn().await;
    let server = Server::start();
    let client = ready(hasty(&server.url())).await;
    server.hang();
    let outcomes = crowd(&client, 1).await;
    let perhaps =
        outcomes.iter().filter(|outcome| outcome.as_ref().is_err_and(|error| error.may_have_run)).count();
    assert!(outcomes.iter().all(Result::is_err));
    server.resume();
    recovers(&client, "other").await;
    let ran = server.ask::<Option<usize>>(&["GET", "key-0"]).unwrap_or(0);
    assert!(ran <= perhaps, "{ran} ran, {perhaps} may have");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_less_time_does_not_wait_for_a_crowd() {
    let _turn = turn().await;
    let server = Server::start();
    let client = ready(client(&server.url())).await;
    server.hang();
    let hurried = Call { deadline: Some(SHORT), ..each("key-1") };
    let mut crowd = pin!(crowd(&client, 1));
    let first = async {
        tokio::select! {
            biased;
            _ = &mut crowd => panic!("a crowd with all the time in the world is told first"),
            outcome = client.call(hurried) => outcome,
        }
    };
    assert_eq!(first.await.unwrap_err().fault, Fault::TimedOut);
    server.resume();
    assert!(crowd.await.into_iter().all(|outcome| outcome.is_ok()));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_in_a_crowd_waits_much_longer_than_their_time() {
    let _turn = turn().await;
    let server = Server::start();
    let client = ready(hasty(&server.url())).await;
    server.hang();
    for outcome in at_most(10 * SHORT, crowd(&client, 1)).await {
        assert!(matches!(outcome.unwrap_err().fault, Fault::TimedOut | Fault::Resting));
    }
    server.resume();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_concerns_all() {
    let _turn = turn().await;
    let server = Server::start();
    let client = ready(client(&server.url())).await;
    server.set("maxmemory", "1");
    for outcome in crowd(&client, 1).await {
        let error = outcome.unwrap_err();
        assert_eq!(error.fault.kind(), "OOM");
        assert!(!error.may_have_run);
    }
    server.set("maxmemory", "0");
    assert_eq!(told(client.call(each("key-0")).await), 1);
}
