//! The store behind all doors, composed once, top to bottom.

mod routes;

use tidegate_core::{Plan, Timestamp};
use tidegate_net::cores::Cores;
use tidegate_net::secret::SecretFile;
use tidegate_redis::client::{self, Address, Certificates, Login};
use tidegate_redis::{Client, Fault, Redis, Routed};
use tidegate_store::layer::{Fallback, Members};
use tidegate_store::{Act, Answer, Done, Memory, Store, StoreError};
use tokio::runtime::Handle;

use crate::checkpoint::{self, Opened};
use crate::config::{Config, OwnStore, StoreKind};
use crate::error::Error;

pub(crate) use routes::tiers;

/// What decides.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of it, and memory should be near")]
pub(crate) enum Stack {
    /// This process by itself.
    Memory(Memory),
    /// All nodes together, in Redis.
    Shared(Box<Shared>),
}

/// Counters of all nodes:
/// - what could not be decided together is decided by this node alone, by its part of each limit: above all else, because
///   it must hear of every failure;
/// - what is decided together is one script in Redis;
/// - tenants and tiers may have servers of their own: below the script, so that a plan that meets several of them is decided like one
///   that meets several shards;
/// - deadlines, and circuits by shard, are in the client of each.
pub(crate) type Shared = Fallback<Redis<Routed<Client>>>;

/// Builds it, with what was kept of an earlier one.
pub(crate) fn build(
    config: &Config,
    cores: &Cores,
    now: Timestamp,
) -> Result<(Stack, Option<Opened>), Error> {
    match &config.store {
        StoreKind::Memory if !config.stores.is_empty() => Err(Error::StoresWithoutStore),
        StoreKind::Memory => {
            let (memory, opened) = checkpoint::open(config, now);
            Ok((Stack::Memory(memory), opened))
        }
        StoreKind::Redis(address) => Ok((Stack::Shared(Box::new(shared(config, cores, address)?)), None)),
    }
}

/// Says what would keep it from being built, as far as settings and files go.
pub(crate) fn check(config: &Config) -> Result<(), Error> {
    match &config.store {
        StoreKind::Memory if !config.stores.is_empty() => Err(Error::StoresWithoutStore),
        StoreKind::Memory => Ok(()),
        StoreKind::Redis(_) => Error::both(asked(config), settings(config)).map(drop),
    }
}

fn settings(config: &Config) -> Result<tidegate_redis::Settings, Error> {
    let file = |path| SecretFile { setting: "redis.secret", path };
    let secret = config.redis.secret.as_deref().map(file).map(SecretFile::hex_key).transpose()?;
    let defaults = tidegate_redis::Settings::default();
    Ok(tidegate_redis::Settings {
        prefix: config.redis.prefix.clone(),
        secret: secret.unwrap_or(defaults.secret),
        fronts_apart: routes::fronts(&config.stores),
        ..defaults
    })
}

fn shared(config: &Config, cores: &Cores, address: &Address) -> Result<Shared, Error> {
    let settings = settings(config)?;
    let mut routed = Routed::new(client(config, cores, address)?);
    let mut stores: Vec<&OwnStore> = config.stores.iter().collect();
    while let Some(address) = stores.first().map(|store| store.address.clone()) {
        let (there, elsewhere): (Vec<_>, Vec<_>) =
            stores.into_iter().partition(|store| store.address == address);
        let homes: Vec<_> = there.iter().flat_map(|store| routes::homes(store, &config.stores)).collect();
        routed.route(&settings, homes.iter().map(Vec::as_slice), client(config, cores, &address)?);
        stores = elsewhere;
    }
    let local = Memory::with_cap(config.limits.memory_bytes);
    Ok(Fallback::new(Redis::new(routed, &settings), local, Members::default()))
}

fn client(config: &Config, cores: &Cores, address: &Address) -> Result<Client, Error> {
    let settings = client::Settings { lanes: cores.handles(), ..asked(config)? };
    Ok(Client::open(address.clone(), settings, &Handle::current())?)
}

/// How servers are asked.
pub(crate) fn asked(config: &Config) -> Result<client::Settings, Error> {
    let redis = &config.redis;
    let own = match (&redis.certificate, &redis.private_key) {
        (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
        (None, None) => None,
        _ => return Err(Error::HalfCertificate),
    };
    Ok(client::Settings {
        deadline: redis.deadline,
        connections: redis.connections,
        calls_in_flight: redis.in_flight,
        password_file: redis.password_file.clone(),
        sentinel: Login {
            user: redis.sentinel_user.clone(),
            password_file: redis.sentinel_password_file.clone(),
        },
        certificates: Certificates { authorities: redis.authorities.clone(), own },
        scripts: tidegate_redis::scripts(),
        ..client::Settings::default()
    })
}

impl Stack {
    /// What counts in this process: everything, or what cannot be counted together.
    pub(crate) fn memory(&self) -> &Memory {
        match self {
            Self::Memory(memory) => memory,
            Self::Shared(shared) => shared.local(),
        }
    }

    /// Waits until all servers that count are connected, however long that takes.
    pub(crate) async fn connected(&self) {
        if let Self::Shared(shared) = self {
            for client in shared.inner().caller().all() {
                client.ready().await;
            }
        }
    }

    /// Servers without a connection, and why.
    pub(crate) fn unreached(&self) -> Vec<(String, String)> {
        let clients = self.shared().into_iter().flat_map(|shared| shared.inner().caller().all());
        let down = clients.flat_map(Client::report).filter(|report| !report.connected);
        let why = |fault: Option<Fault>| fault.map_or_else(String::new, |fault| fault.to_string());
        down.map(|report| (report.shard, why(report.down))).collect()
    }

    /// What counts for all nodes, if anything does.
    pub(crate) fn shared(&self) -> Option<&Shared> {
        match self {
            Self::Memory(_) => None,
            Self::Shared(shared) => Some(shared),
        }
    }
}

/// Memory answers without waiting.
impl Store for Stack {
    fn try_decide(&self, plan: &Plan, now: Timestamp) -> Option<Result<Answer, StoreError>> {
        match self {
            Self::Memory(memory) => memory.try_decide(plan, now),
            Self::Shared(shared) => shared.try_decide(plan, now),
        }
    }

    async fn run(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
        match self {
            Self::Memory(memory) => memory.run_now(act, now),
            Self::Shared(shared) => shared.run(act, now).await,
        }
    }
}
