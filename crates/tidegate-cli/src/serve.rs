//! `tidegate serve`: runs the server until it is told to stop.

use anyhow::Context as _;
use tidegate_server::config::{Config, LogFormat};
use tidegate_server::{Running, Stopped, Stops, logging};

use crate::arguments::Serve;
use crate::exit::{Failure, say};
use crate::settings;

/// Runs the server.
pub(crate) fn run(serve: &Serve) -> Result<(), Failure> {
    let given = settings::given(serve.config.as_ref(), serve.flags());
    let config = settings::load(&given)?;
    logging::start(config.log);
    raise_open_files();
    for (variable, meant) in given.misspelt() {
        tracing::warn!(variable, meant, "unknown variable");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.context("cannot start the runtime")?.block_on(until_stopped(&config))
}

/// Lets the process hold as many connections as it may: shells start with far fewer than the system allows.
fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let most = rustix::process::Rlimit { current: limit.maximum, ..limit };
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, most)
    {
        tracing::warn!(%error, current = limit.current, "cannot raise how many files may be open");
    }
}

async fn until_stopped(config: &Config) -> Result<(), Failure> {
    let stops = Stops::new()?;
    let running = tidegate_server::start(config).await.map_err(settings::failed)?;
    greet(config, &running).await;
    match running.until_stopped(stops).await {
        Stopped::Drained | Stopped::Late => Ok(()),
        Stopped::AtOnce => {
            Err(anyhow::anyhow!("stopped at once, without waiting for requests under way").into())
        }
    }
}

/// What to do next.
async fn greet(config: &Config, running: &Running) {
    let (curl, rules) = (running.curl().await, running.rules());
    if config.log.format == LogFormat::Json {
        tracing::info!(rules, curl, "ready");
        if rules == 0 {
            tracing::warn!("there are no rules: everything passes");
        }
        return;
    }
    let rules = match &config.rules {
        None => "It has no rules, so everything passes; give it some with --rules DIR.".to_owned(),
        Some(path) if rules == 0 => {
            format!("There are no rules in {}, so everything passes until there are.", path.display())
        }
        Some(path) => format!("Rules in force: {rules}, from {}.", path.display()),
    };
    say(&format!("\nTidegate is ready. {rules}"));
    if let Some(curl) = curl {
        say(&format!("Ask it:\n\n  {curl}\n"));
    }
    if let Some(line) = running.redis_cli() {
        say(&format!("Or with a client for Redis:\n\n  {line}\n"));
    }
    if let Some(remark) = running.remark() {
        say(&format!("{remark}\n"));
    }
    if let Some(admin) = running.admin_url() {
        say(&format!("Metrics and the rules in force: {admin}\n"));
    }
}
