//! Servers that answer, but do not want to.

use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use tidegate_redis::{Caller, Fault};
use tidegate_rig::{Options, Server};

use crate::stage::{client, count, fails_with, ready, recovers, turn, two};

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_does_not_write() {
    let _turn = turn().await;
    let (master, replica) = (Server::start(), Server::start());
    replica.ask::<()>(&["REPLICAOF", "127.0.0.1", &master.port().to_string()]);
    let client = ready(client(&replica.url())).await;
    let error = fails_with(&client, "a", Fault::Refused("READONLY")).await;
    assert!(!error.may_have_run);
    replica.ask::<()>(&["REPLICAOF", "NO", "ONE"]);
    recovers(&client, "a").await;
    assert_eq!(replica.ask::<i64>(&["GET", "a"]), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_loads_is_waited_for() {
    let _turn = turn().await;
    let options =
        Options::default().line("key-load-delay", &200).line("loading-process-events-interval-bytes", &1024);
    let mut server = Server::with(&options);
    server.ask::<()>(&["DEBUG", "POPULATE", "10000"]);
    server.ask::<()>(&["SAVE"]);
    let client = ready(client(&server.url())).await;
    server.restart_without_waiting();
    let error = fails_with(&client, "a", Fault::Refused("LOADING")).await;
    assert!(!error.may_have_run);
    recovers(&client, "a").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_says_so_and_is_not_disturbed() {
    let _turn = turn().await;
    let server = Server::with(&Options::default().line("busy-reply-threshold", &50));
    let client = ready(client(&server.url())).await;
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| server.try_to_ask(&["EVAL", "while true do end", "0"]));
        let runtime = tokio::runtime::Handle::current();
        let error = tokio::task::block_in_place(|| {
            runtime.block_on(fails_with(&client, "a", Fault::Refused("BUSY")))
        });
        assert!(!error.may_have_run);
        server.ask::<()>(&["SCRIPT", "KILL"]);
        assert!(busy.join().unwrap().is_err());
    });
    recovers(&client, "a").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_memory_nothing_is_written_in_part() {
    let _turn = turn().await;
    let server = Server::start();
    let client = ready(client(&server.url())).await;
    count(&client, "a").await.unwrap();
    server.set("maxmemory", "1");
    let error = client.call(two("a", "b")).await.unwrap_err();
    assert_eq!((error.fault, error.may_have_run), (Fault::Refused("OOM"), false));
    server.set("maxmemory", "0");
    assert_eq!(count(&client, "a").await, Ok(2));
    assert_eq!(count(&client, "b").await, Ok(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_too_many_connections_is_tried_again() {
    let _turn = turn().await;
    let server = Server::with(&Options::default().line("maxclients", &4));
    let others: Vec<TcpStream> = (0..5).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let mut last = &others[4];
    last.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert!(last.read(&mut [0; 64]).is_ok(), "the fifth is sent away");
    let client = client(&server.url());
    let error = fails_with(&client, "a", Fault::Refused("MAXCLIENTS")).await;
    assert!(!error.may_have_run);
    drop(others);
    recovers(&client, "a").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_a_cluster_is_no_single_server() {
    let _turn = turn().await;
    let server = Server::with(&Options { cluster: true, ..Options::default() });
    let client = ready(client(&server.url())).await;
    let error = count(&client, "a").await.unwrap_err();
    assert_eq!((error.fault, error.may_have_run), (Fault::Refused("CLUSTERDOWN"), false));
}
