//! Three nodes on one store, and how they stand.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tidegate_rig::patience;

use super::asker::{Asker, Said};
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
            nodes.push(node(&traffic::rules(), ("TIDEGATE_STORE", url)).await);
        }
        Self::of(nodes).await
    }

    /// Three nodes with these rules, set up by one file.
    pub(super) async fn configured(rules: &str, file: &str) -> Self {
        let mut nodes = Vec::new();
        for _ in 0..NODES {
            nodes.push(node(rules, ("TIDEGATE_CONFIG", file)).await);
        }
        Self::of(nodes).await
    }

    async fn of(nodes: Vec<Tidegate>) -> Self {
        let stage = Self { nodes };
        stage.all_say("ratelimit_nodes 3").await;
        stage
    }

    /// Asks one node.
    pub(super) fn ask(&self, node: usize, plan: &str, key: &str, org: &str) -> Said {
        Asker::connect(self.nodes[node].http, CEILING).check(plan, key, org).unwrap()
    }

    /// How many of so many questions, to one node after another, are answered with yes; all of them must be exact.
    pub(super) fn admitted(&self, times: usize, (plan, key, org): (&str, &str, &str)) -> usize {
        let passes = |time: &usize| {
            let said = self.ask(time % NODES, plan, key, org);
            assert!(said.is_exact(), "{said:?} for {key}");
            said.status == 200
        };
        (0..times).filter(passes).count()
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

    /// Waits until all nodes have noticed a loss and told what they knew; when that was in the life of a load.
    pub(super) async fn has_told(&self, load: &Load) -> Duration {
        self.all_say("ratelimit_store_losses_total 1").await;
        self.all_say("ratelimit_counters_untold 0").await;
        // The last is on its way when none are left.
        load.age() + DEADLINE
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

    /// Waits until this line is in the metrics of all nodes.
    pub(super) async fn all_say(&self, line: &str) {
        for node in 0..self.nodes.len() {
            until(line, async || self.says(node, line).await.then_some(())).await;
        }
    }

    /// Whether this line is in the metrics of a node.
    pub(super) async fn says(&self, node: usize, line: &str) -> bool {
        self.nodes[node].metrics().await.lines().any(|said| said == line)
    }

    /// What the nodes have said, for whoever looks for a reason.
    pub(super) fn said(&self) -> String {
        self.nodes.iter().map(|node| node.program.said()).collect::<Vec<_>>().join("\n---\n")
    }
}

async fn node(rules: &str, setting: (&str, &str)) -> Tidegate {
    Tidegate::set_up(Folder::of(rules), &[setting, ("TIDEGATE_REDIS_DEADLINE", "200ms")]).await
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
