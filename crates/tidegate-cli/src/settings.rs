//! Settings from the command line, the environment and a file, and what is wrong with them.

use std::path::PathBuf;

use tidegate_server::config::{self, Config, ConfigError, DEFAULT_RULES, EffectiveSetting, Given};
use tidegate_server::{Error, check};

use crate::exit::{Failure, listed};

/// What was given, the whole environment included.
pub(crate) fn given(config: Option<&PathBuf>, flags: Vec<(&'static str, String)>) -> Given {
    let variables = std::env::vars_os();
    let variables =
        variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Given { config: config.cloned(), flags, variables: variables.collect(), default_rules: default_rules() }
}

/// The folder of rules that is taken if none is named: the one that `init` writes, if it is here.
pub(crate) fn default_rules() -> Option<PathBuf> {
    Some(PathBuf::from(DEFAULT_RULES)).filter(|folder| folder.is_dir())
}

/// Puts it together.
pub(crate) fn load(given: &Given) -> Result<Config, Failure> {
    config::load(given).map_err(|error| wrong(&error))
}

/// Every setting with its value and where that comes from.
pub(crate) fn effective(given: &Given) -> Result<Vec<EffectiveSetting>, Failure> {
    config::effective(given).map_err(|error| wrong(&error))
}

fn wrong(error: &ConfigError) -> Failure {
    let is_typed = error.each().iter().all(|one| matches!(one, ConfigError::Flag { .. }));
    let text = listed(error.each());
    if is_typed { Failure::Usage(text) } else { Failure::Configuration(text) }
}

/// The same for a server that is not to be started: whether it could be, but for its rules.
pub(crate) fn examined(file: &PathBuf) -> Result<Config, Failure> {
    let config = load(&given(Some(file), Vec::new()))?;
    check(&config).map_err(failed)?;
    Ok(config)
}

/// Why a server cannot start.
pub(crate) fn failed(error: Error) -> Failure {
    if error.is_configuration() { Failure::Configuration(listed(error.each())) } else { error.into() }
}
