//! What happens to a Cluster of three masters and three replicas: one event after another on the same one.

use std::time::Duration;

use tidegate_rig::Cluster;
use tidegate_rig::patience::until;

use super::bounds::Forgot;
use super::stage::{Stage, judge};
use super::turn;

const SECOND: Duration = Duration::from_secs(1);

/// When a Cluster gives a silent master up.
const NODE_TIMEOUT_MS: u32 = 500;

/// A failover takes about three times the node timeout; nodes find the new master soon after.
const BACK: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_whose_slots_move_whose_master_dies_and_whose_master_hangs() {
    let _turn = turn().await;
    let mut cluster = Cluster::start(NODE_TIMEOUT_MS);
    let stage = Stage::on(&cluster.url()).await;
    slots_move(&stage, &cluster).await;
    a_master_dies(&stage, &mut cluster).await;
    a_master_hangs(&stage, &cluster).await;
}

/// Slots of the first master that have keys go to the second, one after another.
async fn slots_move(stage: &Stage, cluster: &Cluster) {
    let load = stage.load("moved");
    load.go_on(SECOND);
    let mut moved = 0;
    let taken: Vec<u16> = (0..2000)
        .filter(|slot| {
            cluster.nodes[0].ask::<u64>(&["CLUSTER", "COUNTKEYSINSLOT", &u16::to_string(slot)]) > 0
        })
        .collect();
    for slot in taken {
        cluster.begin_to_move(slot, 0, 1);
        load.go_on(SECOND / 20);
        cluster.finish_move(slot, 0, 1);
        moved += 1;
    }
    load.go_on(SECOND);
    let recovered = stage.recovers("moved", BACK).await;
    assert!(moved > 0, "some slot has keys");
    let figures = judge("slots moved", &load.stop(), Forgot::Nothing, recovered);
    assert!(figures.exact > figures.answers / 4 * 3, "redirections are followed: {figures:?}");
}

async fn a_master_dies(stage: &Stage, cluster: &mut Cluster) {
    let load = stage.load("killed");
    load.go_on(2 * SECOND);
    let received = load.age();
    cluster.nodes[1].is_received_by(&cluster.nodes[4]);
    cluster.nodes[1].kill();
    let dead = load.age();
    let recovered = stage.recovers("killed", BACK).await;
    load.go_on(SECOND);
    let figures = judge("a master killed", &load.stop(), Forgot::What { received, lost: dead }, recovered);
    assert!(figures.local > 0 && figures.undecided > 0, "it was not missed: {figures:?}");
    cluster.nodes[1].restart();
}

async fn a_master_hangs(stage: &Stage, cluster: &Cluster) {
    let load = stage.load("hung");
    load.go_on(2 * SECOND);
    let received = load.age();
    cluster.nodes[2].is_received_by(&cluster.nodes[5]);
    cluster.nodes[2].hang();
    let hung = load.age();
    let recovered = stage.recovers("hung", 10 * SECOND).await;
    load.go_on((hung + 10 * SECOND).saturating_sub(load.age()));
    cluster.nodes[2].resume();
    load.go_on(2 * SECOND);
    until("the old master to follow the new one", || {
        let role: String = cluster.nodes[2].ask(&["INFO", "replication"]);
        role.contains("role:slave").then_some(())
    });
    stage.recovers("resumed", BACK).await;
    let forgot = Forgot::What { received, lost: hung };
    let figures = judge("a master hung for 10 s", &load.stop(), forgot, recovered);
    assert!(figures.local > 0 && figures.undecided > 0, "it was not missed: {figures:?}");
}
