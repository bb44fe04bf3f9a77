//! How a server is set up: each setting once, whether it comes from a flag, the environment, a file or nowhere.

pub mod setting;
mod value;
mod file;
mod peer;
mod hidden;
mod load;
mod effective;
pub(crate) mod sense;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tidegate_core::Limit;
use tidegate_frontend::door::Undecided;
pub use tidegate_net::ConnectionLimits;
pub use tidegate_net::cores::RuntimeChoice;
pub use tidegate_net::tls::{ClientCertificates, TlsFiles};
use tidegate_redis::client::Address;
use tidegate_rules::apart::Tier;
pub use tidegate_wire::trust::Shown;
use tidegate_wire::{Trusted, headers};

pub use effective::{EffectiveSetting, effective};
pub use load::{ConfigError, DEFAULT_RULES, Given, load};
pub use setting::{SETTINGS, Setting};

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where each door listens.
    pub listen: Listen,
    /// The directory of rule files, or one such file.
    pub rules: Option<PathBuf>,
    /// Where envoyproxy/ratelimit would read its rules, if its environment is set: then there must be some.
    pub ratelimit_folder: Option<PathBuf>,
    /// What connections are served on.
    pub runtime: RuntimeChoice,
    /// Where counters live.
    pub store: StoreKind,
    /// Tenants and domains whose counters live elsewhere.
    pub stores: Vec<OwnStore>,
    /// How Redis is asked.
    pub redis: Redis,
    /// What is logged, and how.
    pub log: Log,
    /// Who may ask over the Redis protocol.
    pub resp: Resp,
    /// Which headers tell callers about limits.
    pub headers: headers::Settings,
    /// The file of the secret that partition keys are hashed with; without it none are told.
    pub partition_secret: Option<PathBuf>,
    /// The file of the token that the admin door wants; without it, it answers this machine only.
    pub admin_token: Option<PathBuf>,
    /// The file of the token that the HTTP API wants; without it, it answers everybody.
    pub http_token: Option<PathBuf>,
    /// Whose word counts for which attribute.
    pub trust: Trust,
    /// What Envoy is answered if nobody could decide and the class of the rules refuses.
    pub undecided: Undecided,
    /// Whether the dynamic metadata for Envoy repeats the descriptors of the request.
    pub metadata_descriptors: bool,
    /// Whether answers name rules and limits in shadow mode.
    pub tell_shadow: bool,
    /// Which doors are encrypted, and with what.
    pub tls: Tls,
    /// Bounds on everything that callers can make grow.
    pub limits: Limits,
    /// What is let pass when nobody can count.
    pub last_resort: LastResort,
    /// How counters survive a restart.
    pub checkpoint: Checkpoint,
    /// How it stops.
    pub shutdown: Shutdown,
    /// The keys of the settings that somebody gave, wherever; all others are as they are by default.
    pub given: BTreeSet<&'static str>,
}

/// Where each door listens; `None` if it is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Envoy's rate limit service.
    pub grpc: Option<SocketAddr>,
    /// The HTTP API.
    pub http: Option<SocketAddr>,
    /// The Redis protocol.
    pub resp: Option<SocketAddr>,
    /// Metrics and administration.
    pub admin: Option<SocketAddr>,
}

/// Where counters live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreKind {
    /// In this process.
    #[default]
    Memory,
    /// In Redis or Valkey, for all nodes together.
    Redis(Address),
}

/// Somebody with servers of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnStore {
    /// Who that is.
    pub whose: Whose,
    /// Where its counters live.
    pub address: Address,
}

/// Who has servers of its own: the narrower goes before the wider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// A tenant of a domain.
    Tenant {
        /// The domain.
        domain: String,
        /// The tenant.
        tenant: String,
    },
    /// All tenants of a tier that have none of their own.
    Tier(Tier),
    /// All of a domain, but for tenants and tiers that have their own.
    Domain(String),
}

/// How Redis is asked, where counters live there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redis {
    /// What all keys begin with.
    pub prefix: String,
    /// The file of the secret that keys are hashed with; without it they are hashed with a known one.
    pub secret: Option<PathBuf>,
    /// How long an answer is waited for.
    pub deadline: Duration,
    /// Connections to each server.
    pub connections: usize,
    /// Calls that may be under way to one server.
    pub in_flight: usize,
    /// The file with the password.
    pub password_file: Option<PathBuf>,
    /// Who we are to sentinels.
    pub sentinel_user: Option<String>,
    /// The file with the password for them.
    pub sentinel_password_file: Option<PathBuf>,
    /// Whom encrypted connections trust; the system's own roots if there is none.
    pub authorities: Option<PathBuf>,
    /// Who we are, for servers that want a certificate.
    pub certificate: Option<PathBuf>,
    /// The private key of that.
    pub private_key: Option<PathBuf>,
}

impl Default for Redis {
    fn default() -> Self {
        Self {
            prefix: tidegate_redis::DEFAULT_PREFIX.to_owned(),
            secret: None,
            deadline: Duration::from_millis(10),
            connections: 1,
            in_flight: 4096,
            password_file: None,
            sentinel_user: None,
            sentinel_password_file: None,
            authorities: None,
            certificate: None,
            private_key: None,
        }
    }
}

/// Who may ask over the Redis protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resp {
    /// The file with the password; without it everybody who can connect.
    pub password_file: Option<PathBuf>,
}

/// What is logged, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// From which level on.
    pub level: tracing::Level,
    /// In which form.
    pub format: LogFormat,
}

/// The form of a line in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
}

/// Whose word counts for which attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// Who is trusted, and with what.
    pub peers: Vec<TrustedPeer>,
    /// The file of a token that makes a caller trusted with everything, at all doors.
    pub token_file: Option<PathBuf>,
    /// The attributes that only those may state.
    pub attributes: Vec<String>,
    /// The doors where that is so; at forward-auth it always is.
    pub doors: Vec<&'static str>,
}

/// Somebody whose word counts. Everything that is said of it must be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedPeer {
    /// It comes from one of these networks.
    pub networks: Option<Trusted>,
    /// It knows the token in this file.
    pub token_file: Option<PathBuf>,
    /// It shows this certificate.
    pub certificate: Option<Shown>,
    /// The attributes that it may state; all of them if none are named.
    pub attributes: Option<Vec<String>>,
    /// The doors where it may; all of them if none are named. Forward-auth is `authorize`.
    pub doors: Option<Vec<&'static str>>,
}

impl Trust {
    /// All attributes that it names: callers state them, so that rules can ask about them.
    pub fn named_attributes(&self) -> Vec<String> {
        let peers = self.peers.iter().filter_map(|peer| peer.attributes.as_ref()).flatten();
        self.attributes.iter().chain(peers).cloned().collect()
    }
}

impl TrustedPeer {
    /// The doors where somebody can be trusted.
    pub const DOORS: [&'static str; 4] = ["authorize", "grpc", "http", "resp"];

    /// Whoever comes from these networks, with everything, everywhere.
    pub fn in_networks(networks: Trusted) -> Self {
        Self { networks: Some(networks), ..Self::default() }
    }
}

impl Trust {
    /// The doors where it can be so.
    pub const DOORS: [&'static str; 3] = ["grpc", "http", "resp"];
}

impl Default for Trust {
    fn default() -> Self {
        let attributes = ["ip", "org", "plan"].map(str::to_owned).to_vec();
        Self { peers: Vec::new(), token_file: None, attributes, doors: Vec::new() }
    }
}

/// Which doors are encrypted, and with what. All are plain without a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The files that encrypt them.
    pub files: TlsFiles,
    /// The names of the encrypted doors.
    pub doors: Vec<&'static str>,
}

impl Tls {
    /// The doors that can be encrypted.
    pub const DOORS: [&'static str; 4] = ["grpc", "http", "resp", "admin"];

    /// Whether whoever connects to an encrypted door must show a certificate.
    pub fn asks_clients(&self) -> bool {
        self.files.client_authorities.is_some() && self.files.clients == ClientCertificates::Required
    }

    /// Whether that door is encrypted.
    pub fn covers(&self, door: &str) -> bool {
        self.files.certificate.is_some() && self.doors.contains(&door)
    }
}

impl Default for Tls {
    fn default() -> Self {
        Self { files: TlsFiles::default(), doors: vec!["grpc", "http", "resp"] }
    }
}

/// Bounds on everything that callers can make grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Checks that wait for the store at once, for each door.
    pub in_flight: usize,
    /// Bounds on the connections of each door.
    pub network: ConnectionLimits,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Bytes of long bodies that each door holds at once; heads and answers have half as many beside that.
    pub bodies_bytes: usize,
    /// Checks in one batch.
    pub batch: usize,
    /// Bytes that counters in memory take.
    pub memory_bytes: usize,
}

/// What is let pass when nobody can count and the class of the rules lets pass; without a limit, everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastResort {
    /// By this node in all.
    pub node: Option<Limit>,
    /// Of each tenant, or of each domain that has none.
    pub tenant: Option<Limit>,
}

/// How counters of windows of an hour or more survive a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// In which file.
    pub place: Place,
    /// How often they are saved.
    pub every: Duration,
    /// Bytes that the file may have.
    pub max_bytes: usize,
}

/// Where counters are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// In a folder of the service or of the user: `$STATE_DIRECTORY`, `$XDG_STATE_HOME/tidegate`, `~/.local/state/tidegate`
    /// or, for root, `/var/lib/tidegate`.
    #[default]
    Auto,
    /// In that file.
    At(PathBuf),
    /// Nowhere.
    Off,
}

/// How it stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shutdown {
    /// How long it goes on as before after it has said that it is not ready.
    pub lame_duck: Duration,
    /// How long requests under way may then take.
    pub drain: Duration,
}

impl Default for Config {
    fn default() -> Self {
        let everywhere = |port| Some(SocketAddr::from(([0, 0, 0, 0], port)));
        Self {
            listen: Listen {
                grpc: everywhere(8081),
                http: everywhere(8080),
                resp: None,
                admin: Some(SocketAddr::from(([127, 0, 0, 1], 6070))),
            },
            rules: None,
            ratelimit_folder: None,
            runtime: RuntimeChoice::default(),
            store: StoreKind::Memory,
            stores: Vec::new(),
            redis: Redis::default(),
            log: Log { level: tracing::Level::INFO, format: LogFormat::Text },
            resp: Resp::default(),
            headers: headers::Settings::default(),
            partition_secret: None,
            admin_token: None,
            http_token: None,
            trust: Trust::default(),
            undecided: Undecided::default(),
            metadata_descriptors: false,
            tell_shadow: false,
            tls: Tls::default(),
            limits: Limits::default(),
            last_resort: LastResort::default(),
            checkpoint: Checkpoint::default(),
            shutdown: Shutdown { lame_duck: Duration::from_secs(2), drain: Duration::from_secs(10) },
            given: BTreeSet::new(),
        }
    }
}

impl Default for Checkpoint {
    fn default() -> Self {
        Self { place: Place::Auto, every: Duration::from_secs(10), max_bytes: 256 << 20 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 10_000,
            network: ConnectionLimits::default(),
            body_bytes: 1 << 20,
            bodies_bytes: 64 << 20,
            batch: 100,
            memory_bytes: tidegate_store::reference::DEFAULT_CAP_BYTES,
        }
    }
}
