//! Why a server cannot start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The rules cannot be loaded.
    #[error(transparent)]
    Rules(#[from] tidegate_control::Error),
    /// There are no rules, in the place of a server that would not do without.
    #[error(
        "there are no rules, so that every request would pass; RUNTIME_ROOT is set as for envoyproxy/ratelimit, and the server does not start without rules\nhint: name their folder with --rules {folder} or TIDEGATE_RULES={folder}, or unset RUNTIME_ROOT", folder = folder.display()
    )]
    NoRules {
        /// Where envoyproxy/ratelimit would read its own.
        folder: PathBuf,
    },
    /// A listener cannot be set up: its address, its certificates, or the files of its secrets.
    #[error(transparent)]
    Net(tidegate_net::Error),
    /// The admin door would be open to other machines.
    #[error(
        "the admin door would be open to everybody on {address}; set admin.token_file, or encrypt it with client certificates (tls.doors, tls.client_authorities), or use 127.0.0.1"
    )]
    AdminExposed {
        /// Where it should have listened.
        address: SocketAddr,
    },
    /// Every door is off.
    #[error("every door is off; turn on grpc, http or resp")]
    NoDoor,
    /// Redis cannot be asked as it was set up.
    #[error("the store cannot be opened: {0}")]
    Redis(#[from] tidegate_redis::client::OpenError),
    /// Nobody says where the servers are.
    #[error("no server of the store could be found; check the address, and that one of its servers runs")]
    NoServer,
    /// Tenants have servers of their own, and nobody else has any.
    #[error(
        "`stores` gives tenants servers of their own, but the store of all others is memory; set store to an address such as redis://localhost:6379"
    )]
    StoresWithoutStore,
    /// A certificate without its key, or the other way round.
    #[error("redis.certificate and redis.private_key belong together; set both, or neither")]
    HalfCertificate,
    /// The reflection service cannot be built.
    #[error("the descriptors of the services cannot be read: {0}")]
    Reflection(String),
    /// A setting that would silently have no effect, although somebody relies on it.
    #[error("{setting}: {reason}")]
    NoEffect {
        /// Its key.
        setting: &'static str,
        /// What is missing, and what to do.
        reason: &'static str,
    },
    /// Trust that nobody could earn, or everybody has.
    #[error("trust.peers: {reason}")]
    Trust {
        /// What to write.
        reason: String,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// Signals cannot be heard.
    #[error("cannot listen to signals: {0}")]
    Signals(io::Error),
    /// More than one of these.
    #[error("{}", all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several {
        /// All of them.
        all: Vec<Error>,
    },
}

/// Several errors stay several, so that each is reported.
impl From<tidegate_net::Error> for Error {
    fn from(error: tidegate_net::Error) -> Self {
        match error {
            several @ tidegate_net::Error::Several { .. } => {
                Self::Several { all: several.into_each().into_iter().map(Self::Net).collect() }
            }
            one => Self::Net(one),
        }
    }
}

impl Error {
    /// Both, or all that is wrong with either.
    pub(crate) fn both<A, B>(one: Result<A, Self>, other: Result<B, Self>) -> Result<(A, B), Self> {
        match (one, other) {
            (Ok(one), Ok(other)) => Ok((one, other)),
            (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
            (Err(one), Err(other)) => {
                let all = one.into_each().into_iter().chain(other.into_each()).collect();
                Err(Self::Several { all })
            }
        }
    }

    /// Every one, or all that is wrong with any.
    pub(crate) fn every<T>(all: impl IntoIterator<Item = Result<T, Self>>) -> Result<Vec<T>, Self> {
        let mut every = Ok(Vec::new());
        for one in all {
            every = Self::both(every, one).map(|(mut before, one)| {
                before.push(one);
                before
            });
        }
        every
    }

    /// One by one.
    pub fn each(&self) -> &[Self] {
        if let Self::Several { all } = self { all } else { std::slice::from_ref(self) }
    }

    fn into_each(self) -> Vec<Self> {
        if let Self::Several { all } = self { all } else { vec![self] }
    }

    /// Whether what was configured is wrong, rather than the world.
    pub fn is_configuration(&self) -> bool {
        self.each().iter().all(Self::is_of_settings)
    }

    fn is_of_settings(&self) -> bool {
        if let Self::Net(error) = self {
            return error.is_configuration();
        }
        matches!(
            self,
            Self::Rules(_)
                | Self::NoRules { .. }
                | Self::AdminExposed { .. }
                | Self::NoEffect { .. }
                | Self::Trust { .. }
                | Self::NoDoor
                | Self::Redis(_)
                | Self::HalfCertificate
                | Self::StoresWithoutStore
        )
    }
}
