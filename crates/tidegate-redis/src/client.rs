//! Brings calls to the servers that have their keys: one server, the master that sentinels name, or a Cluster.
//!
//! A call is routed by a map that is looked up in the background (`topology`), to a server (`node`) that rests when it fails too
//! often (`health`), over connections that are kept up in the background (`link`), alone or joined with others (`joiner`). What the
//! server says is read (`reply`), and what it redirects is followed (`route`). Every wait ends at the call's deadline.

mod secret;
mod address;
mod settings;
mod credentials;
mod tls;
pub(crate) mod slots;
mod trouble;
mod reply;
mod command;
mod backoff;
mod task;
mod lane;
mod counts;
mod health;
mod connector;
mod link;
mod joiner;
mod node;
mod nodes;
mod map;
mod topology;
mod route;
mod doctor;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

pub use address::{Address, AddressError};
pub use counts::ShardReport;
pub use doctor::{Examined, Finding, Weight};
pub use lane::stay_on_lane;
pub use secret::Secret;
pub use settings::{Certificates, Login, Settings};

use crate::{Call, CallError, Caller, Shard, Shards};
use address::Layout;
use connector::{Recipe, Role};
use credentials::Credentials;
use nodes::Nodes;
use task::Background;
use tls::Encryption;
use topology::Topology;

/// Servers, and the way to them. Everything in the background ends when it is dropped.
pub struct Client {
    topology: Arc<Topology>,
    deadline: Duration,
    _keeper: Background,
}

/// Why a client cannot even begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A file with certificates or a key cannot be read.
    #[error(
        "the certificate file {path} cannot be read; check that it is there and that this user may read it"
    )]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// What the files with certificates and a key hold cannot be used.
    #[error("the certificates for Redis cannot be used: {reason}")]
    Unusable {
        /// Why.
        reason: String,
    },
}

impl Client {
    /// Begins to connect; what happens in the background happens on `runtime`. Until servers are connected, calls fail at once.
    pub fn open(address: Address, settings: Settings, runtime: &Handle) -> Result<Self, OpenError> {
        let tls = address.tls.then(|| Encryption::open(&settings.certificates)).transpose()?;
        let (patience, look_around, deadline) = (settings.patience, settings.look_around, settings.deadline);
        let recipe = Recipe {
            credentials: Credentials {
                user: address.user,
                password: address.password,
                file: settings.password_file.clone(),
            },
            database: address.database,
            tls,
            scripts: settings.scripts,
            joins: address.layout != Layout::Cluster,
            role: if matches!(address.layout, Layout::Sentinel { .. }) { Role::Master } else { Role::Any },
            patience,
            room: settings.calls_in_flight,
        };
        let sentinels = sentinels(&address.layout, &recipe, &settings, runtime);
        let nodes = Nodes::new(runtime.clone(), recipe, settings);
        let topology =
            Topology::new(address.layout, address.places, (nodes, sentinels), (patience, look_around));
        let topology = Arc::new(topology);
        let keeper = Background::start(runtime, Arc::clone(&topology).keep());
        Ok(Self { topology, deadline, _keeper: keeper })
    }

    /// Waits until all servers that keys can be on are known and connected, however long that takes.
    pub async fn ready(&self) {
        while self.topology.map().nodes.is_empty() {
            self.topology.look().await;
        }
        let nodes = self.topology.map().nodes.clone();
        for node in nodes {
            node.up().await;
        }
    }

    /// What was counted of each server, and how it stands.
    pub fn report(&self) -> Vec<ShardReport> {
        self.topology.nodes.reports()
    }
}

/// Where servers are; who we are to them stays in here.
impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shards: Vec<String> = self.report().into_iter().map(|report| report.shard).collect();
        f.debug_tuple("Client").field(&shards).finish()
    }
}

impl Caller for Client {
    async fn call(&self, call: Call) -> Result<redis::Value, CallError> {
        let patience = call.deadline.map_or(self.deadline, |deadline| deadline.min(self.deadline));
        route::run(&self.topology, Arc::new(call), Instant::now() + patience).await
    }

    fn are_neighbours(&self, one: &[u8], other: &[u8]) -> bool {
        self.topology.layout != Layout::Cluster || slots::slot_of_tag(one) == slots::slot_of_tag(other)
    }
}

impl Shards for Client {
    fn shards(&self) -> Vec<Shard> {
        let map = self.topology.map();
        let shard =
            |(node, slots): (&Arc<node::Node>, _)| Shard { name: node.name().to_owned(), route: 0, slots };
        map.parts().into_iter().map(shard).collect()
    }
}

/// Connections to sentinels: as somebody else, with nothing to load.
fn sentinels(layout: &Layout, recipe: &Recipe, settings: &Settings, runtime: &Handle) -> Option<Nodes> {
    let Layout::Sentinel { .. } = layout else { return None };
    let login = settings.sentinel.clone();
    let recipe = Recipe {
        credentials: Credentials { user: login.user, password: None, file: login.password_file },
        database: 0,
        scripts: &[],
        role: Role::Any,
        ..recipe.clone()
    };
    Some(Nodes::new(
        runtime.clone(),
        recipe,
        Settings { connections: 1, lanes: Vec::new(), ..settings.clone() },
    ))
}
