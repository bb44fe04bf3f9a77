//! What every listener stands on: the cores, the store, the engine, and the rules in force.

use std::sync::Arc;

use tidegate_control::{
    ControlHandle, ControlRequests, ControlStatus, FileSource, LoaderContext, RuleLoader, RuleWatcher,
};
use tidegate_engine::{Engine, LastResort};
use tidegate_net::cores::Cores;
use tidegate_redis::client::stay_on_lane;
use tokio::task::JoinSet;

use crate::checkpoint::Opened;
use crate::clock::WallClock;
use crate::config::Config;
use crate::error::Error;
use crate::signals;
use crate::stack::{self, Stack};

pub(super) struct Foundation {
    pub(super) engine: Arc<Engine<Stack>>,
    pub(super) wall_clock: Arc<WallClock>,
    /// The runtimes of connections, those to the store among them.
    pub(super) cores: Arc<Cores>,
    pub(super) status: Arc<ControlStatus>,
    pub(super) control: ControlHandle,
    /// Keeps the rules up to date once it runs.
    pub(super) watcher: RuleWatcher<FileSource, Stack>,
    /// The checkpoint of an earlier process.
    pub(super) opened: Option<Opened>,
    pub(super) background: JoinSet<()>,
}

impl Foundation {
    /// Builds the engine and loads the rules, which must be good.
    pub(super) async fn build(config: &Config) -> Result<Self, Error> {
        let (control, requests) = tidegate_control::channel();
        let mut background = JoinSet::new();
        background.spawn(signals::reload_on_hangup(control.clone())?);
        let wall_clock = WallClock::start();
        background.spawn(Arc::clone(&wall_clock).follow());

        let (clock, status) = (wall_clock.reader(), Arc::new(ControlStatus::default()));
        let cores = Arc::new(Cores::start(config.runtime, stay_on_lane).map_err(Error::Thread)?);
        let (stack, opened) = stack::build(config, &cores, clock())?;
        let resort = LastResort::new(config.last_resort.node, config.last_resort.tenant);
        let engine = Arc::new(Engine::new(stack).with_last_resort(resort));
        let context = LoaderContext {
            engine: Arc::clone(&engine),
            status: Arc::clone(&status),
            clock,
            tiers: stack::tiers(&config.stores),
            attributes: config.trust.named_attributes(),
        };
        let watcher = load_rules(config, context, requests).await?;
        warn_without_rules(config, engine.snapshot().rules())?;
        Ok(Self { engine, wall_clock, cores, status, control, watcher, opened, background })
    }
}

/// Loads the rules for the first time; the result keeps them up to date.
async fn load_rules(
    config: &Config,
    context: LoaderContext<Stack>,
    requests: ControlRequests,
) -> Result<RuleWatcher<FileSource, Stack>, Error> {
    let source = config.rules.clone().map(FileSource::new);
    Ok(RuleWatcher::start(source, RuleLoader::new(context), requests).await?)
}

/// Says loudly that everything passes; in the place of envoyproxy/ratelimit that is an error.
fn warn_without_rules(config: &Config, rules: usize) -> Result<(), Error> {
    if rules > 0 {
        return Ok(());
    }
    if let Some(folder) = &config.ratelimit_folder {
        return Err(Error::NoRules { folder: folder.clone() });
    }
    let hint = "name a folder of rules with --rules or TIDEGATE_RULES; `tidegate init` writes one";
    tracing::warn!(hint, "there are no rules: everything passes");
    Ok(())
}
