//! Three nodes on one store, and how they stand.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tidegate_rig::patience;

use super::asker::Asker;
use super::bounds::{self, Forgot};
use super::history::{Figures, History};
use super::load::{CEILING, Load};
use super::traffic::{self, CLASSES};
use crate::folder::Folder;
use crate::patience::until;
use crate::tidegate::Tidegate;

/// How many nodes there are.
pub(super) const NODES: usize = 3;

/// How long a node waits for Redis: long enough for a machine that is busy with other tests.
pub(super) const DEADLINE: Duration = Duration::from_millis(200);

/// Keys that are asked about to see whether all is well: enough to find every server of a Cluster.
const PROBES: usize = 16;

/// Nodes that count together.
pub(super) struct Stage {
    nodes: Vec<Tidegate>,
}

impl Stage {
    /// Three nodes on one store.
    pub(super) async fn on(url: &str) -> Self {
        Self::each_on(&[url, url, url]).await
    }

    /// A node for each address, all of the same store.
    pub(super) async fn each_on(urls: &[&str]) -> Self {
        let mut nodes = Vec::new();
        for url in urls {
            let settings = [("TIDEGATE_STORE", *url), ("TIDEGATE_REDIS_DEADLINE", "200ms")];
            nodes.push(Tidegate::set_up(Folder::of(&traffic::rules()), &settings).await);
        }
        let stage = Self { nodes };
        stage.all_say("ratelimit_nodes 3").await;
        stage
    }

    /// Where the nodes are asked.
    pub(super) fn doors(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(|node| node.http).collect()
    }

    /// Begins to ask them.
    pub(super) fn load(&self, series: &str) -> Load {
        Load::start(&self.doors(), series)
    }

    /// Waits until all nodes decide exactly again for every class, and owe nothing; how long that took.
    pub(super) async fn recovers(&self, series: &str, within: Duration) -> Duration {
        let start = Instant::now();
        let recovered = patience::within(within, || self.is_exact(series).then_some(()));
        assert!(recovered.is_some(), "it does not recover: {}", self.said());
        self.all_say("ratelimit_debts 0").await;
        start.elapsed()
    }

    /// Whether every node decides exactly, whatever the class and wherever the key lives.
    fn is_exact(&self, series: &str) -> bool {
        self.doors().into_iter().all(|door| {
            let mut asker = Asker::connect(door, CEILING);
            let mut is_exact = |class: &str, probe: usize| {
                let key = format!("{series}-probe-{probe}");
                asker.check(&format!("{class}-rate"), &key, "").unwrap().is_exact()
            };
            CLASSES.iter().all(|class| (0..PROBES).all(|probe| is_exact(class, probe)))
        })
    }

    async fn all_say(&self, line: &str) {
        for node in &self.nodes {
            let says = async || node.metrics().await.lines().any(|said| said == line).then_some(());
            until(line, says).await;
        }
    }

    /// What the nodes have said, for whoever looks for a reason.
    pub(super) fn said(&self) -> String {
        self.nodes.iter().map(|node| node.program.said()).collect::<Vec<_>>().join("\n---\n")
    }
}

/// Holds a history against everything that must be so, and prints its figures.
#[expect(clippy::print_stderr, reason = "figures are for people")]
pub(super) fn judge(event: &str, history: &History, forgot: Forgot, recovered: Duration) -> Figures {
    let figures = history.figures();
    history.every_answer_is_right();
    let (most, bound) = bounds::hold(history, forgot);
    eprintln!(
        "{event}: {figures}; of a key at most {most} (bound {bound}); exact again after {recovered:.1?}"
    );
    figures
}
