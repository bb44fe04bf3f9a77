//! What a network does between nodes and a Redis that is well.

use std::time::Duration;

use tidegate_rig::{Manner, Proxy, Server};

use super::bounds::Forgot;
use super::stage::{DEADLINE, NODES, Stage, judge};
use super::turn;

const SECOND: Duration = Duration::from_secs(1);

/// How long it takes at most until all is exact again once the network is honest.
const BACK: Duration = Duration::from_secs(15);

/// A Redis with a proxy before it for each node.
struct Network {
    stage: Stage,
    proxies: Vec<Proxy>,
    _redis: Server,
}

impl Network {
    async fn start() -> Self {
        let redis = Server::start();
        let proxies: Vec<Proxy> = (0..NODES).map(|_| Proxy::before(redis.port())).collect();
        let urls: Vec<String> = proxies.iter().map(|proxy| format!("redis://{}", proxy.address())).collect();
        let stage = Stage::each_on(&urls.iter().map(String::as_str).collect::<Vec<_>>()).await;
        Self { stage, proxies, _redis: redis }
    }

    /// Some of the proxies behave so for a while.
    async fn suffers(&self, event: &str, manner: &Manner, proxies: &[Proxy]) {
        let load = self.stage.load(event);
        load.go_on(SECOND);
        for proxy in proxies {
            proxy.be(manner.clone());
        }
        load.go_on(2 * SECOND);
        for proxy in proxies {
            proxy.be(Manner::Honest);
        }
        let recovered = self.stage.recovers(event, BACK).await;
        load.go_on(SECOND);
        let figures = judge(event, &load.stop(), Forgot::Nothing, recovered);
        assert!(figures.local > 0 && figures.undecided > 0, "it was not noticed: {figures:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_delays_drops_cuts_and_corrupts() {
    let _turn = turn().await;
    let network = Network::start().await;
    let all = &network.proxies[..];
    network.suffers("late", &Manner::Late(2 * DEADLINE), all).await;
    network.suffers("deaf", &Manner::Deaf, all).await;
    network.suffers("mute", &Manner::Mute, all).await;
    network.suffers("cutting", &Manner::Cutting, all).await;
    network.suffers("garbling", &Manner::Garbling, all).await;
    network.suffers("deaf-for-one", &Manner::Deaf, &all[..1]).await;
}
