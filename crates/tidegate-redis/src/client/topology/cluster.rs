//! A Cluster's slots: several servers are asked, and the one that has seen the latest change is believed.

use std::sync::Arc;

use redis::Value;
use tokio::task::JoinSet;

use super::Topology;
use crate::client::map::{Map, Range, ranges};
use crate::client::node::Node;

/// Servers that are asked at once.
const ASKED: usize = 3;

impl Topology {
    /// Asks servers that are well, or, if none of them answers, all that are known and those of the address.
    pub(super) async fn look_at_cluster(&self) {
        let map = self.map.load_full();
        let well = map.nodes.iter().filter(|node| node.is_well()).take(ASKED).cloned();
        let mut ranges = self.latest(well.collect()).await;
        if ranges.is_none() {
            for place in &self.seeds {
                self.nodes.at(place);
            }
            ranges = self.latest(self.nodes.all()).await;
        }
        if let Some(ranges) = ranges {
            let map = Map::of_ranges(&ranges, |place| self.nodes.at(place));
            self.publish(map).await;
        }
    }

    /// What the one of them says that has seen the most.
    async fn latest(&self, nodes: Vec<Arc<Node>>) -> Option<Vec<Range>> {
        let mut asked = JoinSet::new();
        let patience = self.patience;
        for node in nodes {
            asked.spawn(async move { tokio::time::timeout(patience, slots(&node)).await.ok().flatten() });
        }
        let answers = asked.join_all().await;
        answers.into_iter().flatten().max_by_key(|(epoch, _)| *epoch).map(|(_, ranges)| ranges)
    }
}

/// A server's view, and how much it has seen.
async fn slots(node: &Node) -> Option<(u64, Vec<Range>)> {
    node.up().await;
    let info = node.ask(redis::cmd("CLUSTER").arg("INFO")).await?;
    let answer = node.ask(redis::cmd("CLUSTER").arg("SLOTS")).await?;
    let ranges = ranges(&answer, &node.place)?;
    (!ranges.is_empty()).then_some((epoch(&info)?, ranges))
}

fn epoch(info: &Value) -> Option<u64> {
    let Value::BulkString(text) = info else { return None };
    let text = std::str::from_utf8(text).ok()?;
    text.lines().find_map(|line| line.strip_prefix("cluster_current_epoch:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use redis::Value;

    use super::epoch;

    #[test]
    fn the_epoch_is_found() {
        let info = "cluster_state:ok\r\ncluster_current_epoch:17\r\ncluster_my_epoch:2\r\n";
        assert_eq!(epoch(&Value::BulkString(info.as_bytes().to_vec())), Some(17));
        assert_eq!(epoch(&Value::Nil), None);
    }
}
