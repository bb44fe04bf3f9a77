//! Sentinel's master: all sentinels are asked, and what most of them say is tried.

use std::collections::HashMap;
use std::sync::Arc;

use redis::Value;
use tokio::task::JoinSet;

use super::Topology;
use crate::client::address::Place;
use crate::client::map::Map;
use crate::client::node::Node;

impl Topology {
    /// Goes over to the server that sentinels name, once it is connected and says itself that it is the master.
    pub(super) async fn look_at_sentinels(&self, master: &str) {
        let Some(place) = self.named_by_most(master).await else { return };
        let known = self.map.load_full();
        if known.node_at(&place).is_some() {
            return;
        }
        let node = self.nodes.at(&place);
        let is_master = tokio::time::timeout(self.patience, node.up()).await.is_ok();
        if is_master || known.nodes.is_empty() {
            self.publish(Map::single(node)).await;
        }
    }

    async fn named_by_most(&self, master: &str) -> Option<Place> {
        let mut asked = JoinSet::new();
        let patience = self.patience;
        for place in &self.seeds {
            let (sentinel, master) = (self.sentinels.as_ref()?.at(place), master.to_owned());
            asked.spawn(async move {
                tokio::time::timeout(patience, named(&sentinel, &master)).await.ok().flatten()
            });
        }
        let mut votes: HashMap<Place, usize> = HashMap::new();
        for place in asked.join_all().await.into_iter().flatten() {
            *votes.entry(place).or_default() += 1;
        }
        votes.into_iter().max_by_key(|(_, votes)| *votes).map(|(place, _)| place)
    }
}

async fn named(sentinel: &Arc<Node>, master: &str) -> Option<Place> {
    sentinel.up().await;
    let answer = sentinel.ask(redis::cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(master)).await?;
    let Value::Array(parts) = answer else { return None };
    let [Value::BulkString(host), Value::BulkString(port)] = parts.as_slice() else { return None };
    let port = std::str::from_utf8(port).ok()?.parse().ok()?;
    Some(Place { host: String::from_utf8(host.clone()).ok()?, port })
}
