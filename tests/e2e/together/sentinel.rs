//! What happens when sentinels replace a master.

use std::time::Duration;

use tidegate_rig::Sentinels;

use super::bounds::Forgot;
use super::stage::{Stage, judge};
use super::turn;

const SECOND: Duration = Duration::from_secs(1);

/// Sentinels take a second or two to agree once the master is silent for long enough.
const BACK: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_sentinels_replace() {
    let _turn = turn().await;
    let mut group = Sentinels::start(500);
    let stage = Stage::on(&group.url()).await;
    let load = stage.load("sentinel");
    load.go_on(2 * SECOND);
    let received = load.age();
    group.servers[0].is_received_by(&group.servers[1]);
    group.servers[0].kill();
    let dead = load.age();
    let recovered = stage.recovers("sentinel", BACK).await;
    load.go_on(SECOND);
    let figures =
        judge("failover by Sentinel", &load.stop(), Forgot::What { received, lost: dead }, recovered);
    assert!(figures.local > 0 && figures.undecided > 0, "it was not missed: {figures:?}");
}
