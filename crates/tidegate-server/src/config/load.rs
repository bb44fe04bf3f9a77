//! Which value counts: a flag before a variable, a variable before the file, the file before the default.

use std::path::{Path, PathBuf};

use tidegate_rules::Source;
use tidegate_rules::diagnostic::nearest;

use super::value::Wrong;
use super::{Config, Place, SETTINGS, Setting, file, hidden};

/// What was given, apart from the file's own words.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The file, if a flag names one.
    pub config: Option<PathBuf>,
    /// Flags, by their settings' keys, with their values.
    pub flags: Vec<(&'static str, String)>,
    /// Variables with their values: all of the environment, or what a test makes of it.
    pub variables: Vec<(String, String)>,
    /// The folder of rules that is taken if none is named and it is there.
    pub default_rules: Option<PathBuf>,
}

/// The folder of rules that `init` writes and all commands read unless another is named.
pub const DEFAULT_RULES: &str = "rules";

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file says something wrong; the text says all of it, with places.
    #[error("{rendered}")]
    File {
        /// As a compiler prints it.
        rendered: String,
    },
    /// A variable says something wrong.
    #[error("{variable}: {message}")]
    Variable {
        /// Its name.
        variable: &'static str,
        /// What is wrong.
        message: String,
    },
    /// A flag says something wrong.
    #[error("--{flag}: {message}")]
    Flag {
        /// Its name.
        flag: &'static str,
        /// What is wrong.
        message: String,
    },
    /// More than one of these.
    #[error("{}", all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several {
        /// All of them.
        all: Vec<ConfigError>,
    },
}

impl ConfigError {
    /// One by one.
    pub fn each(&self) -> &[Self] {
        if let Self::Several { all } = self { all } else { std::slice::from_ref(self) }
    }
}

/// The variable that names the file.
pub(super) const FILE_VARIABLE: &str = "TIDEGATE_CONFIG";

/// Puts together what was given, or says all that is wrong with it.
pub fn load(given: &Given) -> Result<Config, ConfigError> {
    let (mut config, mut wrong) = (Config::default(), Vec::new());
    let named = given.variable(FILE_VARIABLE).map(PathBuf::from);
    if let Some(path) = given.config.clone().or(named) {
        wrong.extend(from_file(&path, &mut config).err());
    }
    for setting in SETTINGS {
        if let Some(text) = given.variable(setting.variable) {
            let said = |message| ConfigError::Variable { variable: setting.variable, message };
            wrong.extend(set(setting, text, &mut config).map_err(said).err());
        }
    }
    for setting in SETTINGS {
        if let Some((flag, text)) = given.flag(setting) {
            let said = |message| ConfigError::Flag { flag, message };
            wrong.extend(set(setting, text, &mut config).map_err(said).err());
        }
    }
    if !config.given.contains("rules") {
        config.rules.clone_from(&given.default_rules);
    }
    config.ratelimit_folder = given.ratelimit_folder();
    match wrong.len() {
        0 => Ok(config),
        1 => Err(wrong.remove(0)),
        _ => Err(ConfigError::Several { all: wrong }),
    }
}

fn set(setting: &Setting, text: &str, config: &mut Config) -> Result<(), Wrong> {
    config.given.insert(setting.key);
    (setting.set)(config, text)
}

fn from_file(path: &Path, config: &mut Config) -> Result<(), ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let source = Source::new(path.display().to_string(), text);
    let diagnostics = file::read(&source, config);
    if diagnostics.has_errors() {
        return Err(ConfigError::File { rendered: diagnostics.render(&hidden::without_secrets(&source)) });
    }
    // A path in the file is meant from where the file is.
    let folder = path.parent().unwrap_or(Path::new(""));
    let checkpoint = if let Place::At(path) = &mut config.checkpoint.place { Some(path) } else { None };
    let (redis, tls) = (&mut config.redis, &mut config.tls);
    let files = [
        config.rules.as_mut(),
        config.partition_secret.as_mut(),
        config.admin_token.as_mut(),
        config.http_token.as_mut(),
        config.trust.token_file.as_mut(),
        checkpoint,
        tls.files.certificate.as_mut(),
        tls.files.private_key.as_mut(),
        tls.files.client_authorities.as_mut(),
        redis.secret.as_mut(),
        redis.password_file.as_mut(),
        redis.sentinel_password_file.as_mut(),
        redis.authorities.as_mut(),
        redis.certificate.as_mut(),
        redis.private_key.as_mut(),
        config.resp.password_file.as_mut(),
    ];
    let tokens = config.trust.peers.iter_mut().filter_map(|peer| peer.token_file.as_mut());
    for path in files.into_iter().flatten().chain(tokens) {
        *path = folder.join(&path);
    }
    Ok(())
}

impl Given {
    /// Variables that are called almost as one of ours, or hold what one of ours names the file of. Others that begin alike are
    /// none of our business: Kubernetes sets some for each service.
    pub fn misspelt(&self) -> Vec<(&str, &'static str)> {
        let known = || SETTINGS.iter().map(|setting| setting.variable).chain([FILE_VARIABLE]);
        let ours = self.variables.iter().map(|(name, _)| name.as_str());
        let is_near = |name: &str, meant: &&str| name.len().abs_diff(meant.len()) <= 2;
        let file_of = |name: &str| known().find(|known| known.strip_suffix("_FILE") == Some(name));
        ours.filter(|name| name.starts_with("TIDEGATE_") && known().all(|known| known != *name))
            .filter_map(|name| {
                let meant = nearest(name, known()).filter(|meant| is_near(name, meant));
                Some((name, file_of(name).or(meant)?))
            })
            .collect()
    }

    /// The folder to read like envoyproxy/ratelimit would, by its own variables: the one that has `config` in it.
    fn ratelimit_folder(&self) -> Option<PathBuf> {
        let root = self.variable("RUNTIME_ROOT").filter(|root| !root.is_empty())?;
        let below = self.variable("RUNTIME_SUBDIRECTORY").unwrap_or_default();
        match self.variable("RUNTIME_APPDIRECTORY").filter(|folder| *folder != "config") {
            Some(folder) => Some([root, below, folder].iter().collect()),
            None => Some([root, below].iter().filter(|part| !part.is_empty()).collect()),
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(variable, _)| variable == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn flag(&self, setting: &Setting) -> Option<(&'static str, &str)> {
        let (_, text) = self.flags.iter().find(|(key, _)| *key == setting.key)?;
        Some((setting.flag?, text))
    }
}
