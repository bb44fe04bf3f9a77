//! Finds out who has which keys, again and again in the background: soon when something is wrong, slowly otherwise.

mod cluster;
mod sentinel;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};

use super::address::{Layout, Place};
use super::map::Map;
use super::nodes::Nodes;

/// How soon it is looked again while a server is not well.
const WHILE_ILL: Duration = Duration::from_millis(100);
/// How long there is at least between two looks, whoever asks for them.
const AT_LEAST: Duration = Duration::from_millis(20);

/// What is known of servers, and how it is kept up to date.
pub(crate) struct Topology {
    pub(crate) layout: Layout,
    pub(crate) nodes: Nodes,
    map: ArcSwap<Map>,
    /// Servers of the address; of Sentinel, nobody else is asked.
    seeds: Vec<Place>,
    /// Connections to sentinels.
    sentinels: Option<Nodes>,
    patience: Duration,
    look_around: Duration,
    wanted: Notify,
    /// How often it was looked.
    looks: watch::Sender<u64>,
}

impl Topology {
    pub(crate) fn new(
        layout: Layout,
        seeds: Vec<Place>,
        (nodes, sentinels): (Nodes, Option<Nodes>),
        (patience, look_around): (Duration, Duration),
    ) -> Self {
        let map = match (&layout, seeds.first()) {
            (Layout::Single, Some(place)) => Map::single(nodes.at(place)),
            _ => Map::default(),
        };
        Self {
            layout,
            nodes,
            map: ArcSwap::from_pointee(map),
            seeds,
            sentinels,
            patience,
            look_around,
            wanted: Notify::new(),
            looks: watch::Sender::new(0),
        }
    }

    /// Who has which keys.
    pub(crate) fn map(&self) -> arc_swap::Guard<Arc<Map>> {
        self.map.load()
    }

    /// Has it looked at soon.
    pub(crate) fn want(&self) {
        self.wanted.notify_one();
    }

    /// Waits until it was looked at from now on.
    pub(crate) async fn look(&self) {
        let mut looks = self.looks.subscribe();
        looks.mark_unchanged();
        self.want();
        // It fails only when the topology is gone, and we hold it.
        drop(looks.changed().await);
    }

    /// Looks for ever.
    pub(crate) async fn keep(self: Arc<Self>) {
        let mut lost = false;
        loop {
            match &self.layout {
                Layout::Single => {}
                Layout::Cluster => self.look_at_cluster().await,
                Layout::Sentinel { master } => self.look_at_sentinels(master).await,
            }
            self.looks.send_modify(|looks| *looks += 1);
            self.complain_if_lost(&mut lost);
            tokio::time::sleep(AT_LEAST).await;
            let ill = self.map().nodes.iter().any(|node| !node.is_well()) || self.map().nodes.is_empty();
            let pause = if ill { WHILE_ILL.min(self.look_around) } else { self.look_around };
            // Whether somebody wants it or time went by, it is looked again.
            drop(tokio::time::timeout(pause, self.wanted.notified()).await);
        }
    }

    /// Says once that nobody could be found.
    fn complain_if_lost(&self, lost: &mut bool) {
        let nobody = self.map().nodes.is_empty();
        if nobody && !std::mem::replace(lost, nobody) {
            let places: Vec<String> = self.seeds.iter().map(ToString::to_string).collect();
            tracing::warn!(
                asked = places.join(","),
                "nobody of the store's address says where the masters are"
            );
        }
    }

    /// Makes a map the one that counts, once its servers are connected or have had time enough to be.
    async fn publish(&self, map: Map) {
        // Servers that were known before are in use as they are; only new ones are waited for.
        let known = self.map.load_full();
        let new = map.nodes.iter().filter(|node| known.node_at(&node.place).is_none());
        let connected = async {
            for node in new {
                node.up().await;
            }
        };
        drop(tokio::time::timeout(self.patience, connected).await);
        self.nodes.keep(&map.nodes);
        self.map.store(Arc::new(map));
    }
}
