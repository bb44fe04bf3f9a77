//! Nodes admit together exactly what the limit says.

use std::thread;
use std::time::Duration;

use tidegate_rig::Server;

use super::asker::Asker;
use super::stage::NODES;
use super::turn;
use crate::folder::Folder;
use crate::tidegate::Tidegate;

const RULES: &str = "
domain: api
rules:
  - { name: all, match: { plan: all }, by: [api_key], limit: 10000/d, class: security }
";

/// Connections to each node, and how often each asks: twice the limit in all.
const CONNECTIONS: usize = 4;
const EACH: usize = 20_004 / (NODES * CONNECTIONS);

#[tokio::test(flavor = "multi_thread")]
async fn of_twice_the_limit_three_nodes_admit_exactly_the_limit() {
    let _turn = turn().await;
    let redis = Server::start();
    let settings = [("TIDEGATE_STORE", redis.url()), ("TIDEGATE_REDIS_DEADLINE", "10s".to_owned())];
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        nodes.push(Tidegate::set_up(Folder::of(RULES), &settings).await);
    }
    let threads: Vec<_> = nodes
        .iter()
        .flat_map(|node| [node.http; CONNECTIONS])
        .map(|door| thread::spawn(move || admitted(Asker::connect(door, Duration::from_secs(60)))))
        .collect();
    let admitted: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(admitted, 10_000);
}

fn admitted(mut asker: Asker) -> usize {
    let mut passes = || {
        let said = asker.check("all", "everybody", "").unwrap();
        assert!(said.is_exact(), "{said:?}");
        said.status == 200
    };
    (0..EACH).filter(|_| passes()).count()
}
