//! All servers that are connected to, by their place.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;

use super::address::Place;
use super::connector::Recipe;
use super::counts::{Ledger, ShardReport};
use super::node::Node;
use super::settings::Settings;

/// Servers, made when they are first needed.
pub(crate) struct Nodes {
    runtime: Handle,
    recipe: Arc<Recipe>,
    settings: Settings,
    ledger: Ledger,
    by_place: Mutex<HashMap<Place, Arc<Node>>>,
}

impl Nodes {
    pub(crate) fn new(runtime: Handle, recipe: Recipe, settings: Settings) -> Self {
        let recipe = Arc::new(recipe);
        Self { runtime, recipe, settings, ledger: Ledger::default(), by_place: Mutex::default() }
    }

    /// The server at a place; begins to connect to it if nobody has yet.
    pub(crate) fn at(&self, place: &Place) -> Arc<Node> {
        let mut nodes = self.by_place.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || {
            let counts = self.ledger.of(&place.to_string());
            Node::start(&self.runtime, place.clone(), &self.recipe, &self.settings, counts)
        };
        Arc::clone(nodes.entry(place.clone()).or_insert_with(start))
    }

    /// All servers there are.
    pub(crate) fn all(&self) -> Vec<Arc<Node>> {
        self.by_place.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Lets go of all servers but these.
    pub(crate) fn keep(&self, kept: &[Arc<Node>]) {
        let mut nodes = self.by_place.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|place, _| kept.iter().any(|node| node.place == *place));
    }

    /// What was counted of all servers there ever were, and how those that there are stand.
    pub(crate) fn reports(&self) -> Vec<ShardReport> {
        let mut reports = self.ledger.reports();
        for node in self.all() {
            if let Some(report) = reports.iter_mut().find(|report| report.shard == node.name()) {
                node.fill(report);
            }
        }
        reports
    }
}
