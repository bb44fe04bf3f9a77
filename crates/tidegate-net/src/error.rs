//! Why a listener cannot be set up.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a listener cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be bound.
    #[error("the {listener} door cannot listen on {address}")]
    Listen {
        /// The name of the listener.
        listener: &'static str,
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The file of a secret cannot be used.
    #[error("{setting}: the secret in {} cannot be used: {reason}", path.display())]
    Secret {
        /// The setting that names the file.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong, without any part of the secret.
        reason: String,
    },
    /// Certificates cannot be used.
    #[error("the doors cannot be encrypted: {reason}")]
    Tls {
        /// What is wrong, without any part of the private key.
        reason: String,
    },
    /// A certificate without its key, or the other way round.
    #[error(
        "{section}.certificate and {section}.private_key belong together; {section}.client_authorities needs both"
    )]
    HalfTls {
        /// The section of the settings that names the files.
        section: &'static str,
    },
    /// More than one of these.
    #[error("{}", all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several {
        /// All of them.
        all: Vec<Error>,
    },
}

impl Error {
    /// Both results, or the errors of both.
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

    /// The errors one by one.
    pub fn into_each(self) -> Vec<Self> {
        if let Self::Several { all } = self { all } else { vec![self] }
    }

    /// Whether the settings or the files that they name are wrong, rather than the system.
    pub fn is_configuration(&self) -> bool {
        match self {
            Self::Several { all } => all.iter().all(Self::is_configuration),
            Self::Secret { .. } | Self::Tls { .. } | Self::HalfTls { .. } => true,
            Self::Listen { .. } => false,
        }
    }
}
