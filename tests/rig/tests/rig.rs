//! The rig itself: what it starts runs, and what it breaks is broken.

use tidegate_rig::patience::until;
use tidegate_rig::{Cluster, Flavour, Manner, Options, Proxy, Sentinels, Server, ask_at, slot_of_tag};

fn pong(address: &str) -> bool {
    ask_at(address, None, &["PING"]).is_ok()
}

#[test]
fn servers_of_both_flavours_answer_and_end_when_killed() {
    for flavour in [Flavour::Redis, Flavour::Valkey] {
        let mut server = Server::with(&Options { flavour, ..Options::default() });
        server.ask::<()>(&["SET", "key", "value"]);
        server.kill();
        assert!(!pong(&server.address()));
        server.restart_empty();
        assert_eq!(server.ask::<Option<String>>(&["GET", "key"]), None);
    }
}

#[test]
fn a_server_ends_with_its_owner() {
    let server = Server::start();
    let address = server.address();
    drop(server);
    assert!(!pong(&address));
}

#[test]
fn a_cluster_moves_a_slot_and_replaces_a_dead_master() {
    let mut cluster = Cluster::start(500);
    let slot = slot_of_tag("a");
    let from = cluster.master_of(slot, None).unwrap();
    let to = cluster.other_master(from);
    cluster.nodes[from].ask::<()>(&["SET", "{a}", "1"]);
    cluster.begin_to_move(slot, from, to);
    cluster.finish_move(slot, from, to);
    until("the slot to have moved", || (cluster.master_of(slot, None) == Some(to)).then_some(()));

    cluster.nodes[to].kill();
    until("a replica to take over", || cluster.master_of(slot, Some(to)).filter(|&master| master != to));
}

#[test]
fn sentinels_replace_a_dead_master() {
    let mut group = Sentinels::start(500);
    assert_eq!(group.master(), Some(0));
    group.servers[0].kill();
    until("a replica to take over", || (group.master() == Some(1)).then_some(()));
}

#[test]
fn a_proxy_passes_on_garbles_cuts_and_answers_for_itself() {
    let server = Server::start();
    let proxy = Proxy::before(server.port());
    assert!(pong(&proxy.address()));
    for manner in
        [Manner::Garbling, Manner::Cutting, Manner::Closed, Manner::Answering("-LOADING it\r\n".to_owned())]
    {
        proxy.be(manner);
        assert!(!pong(&proxy.address()));
    }
    proxy.be(Manner::Honest);
    assert!(pong(&proxy.address()));
}
