//! Why a server that was asked gave no answer.

/// No answer, with a hint at what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// Nobody is there.
    #[error("cannot reach {address}: {why}\nhint: is `tidegate serve` running there?")]
    Unreachable {
        /// Where.
        address: String,
        /// What the system says.
        why: std::io::Error,
    },
    /// It does not understand plain words.
    #[error(
        "{address} does not speak plain HTTP; it may be encrypted (TLS)\nhint: ask a door that is not among tls.doors, on the server's own machine, or go through a tunnel"
    )]
    Encrypted {
        /// Where.
        address: String,
    },
    /// It wants to know who asks.
    #[error("{address} wants a token\nhint: write it to a file and name that: TIDEGATE_TOKEN_FILE=…")]
    NoToken {
        /// Where.
        address: String,
    },
    /// It was told, and is not convinced.
    #[error(
        "{address} does not accept the token in the file that TIDEGATE_TOKEN_FILE names\nhint: each door has its own: admin.token_file and http.token_file of the server"
    )]
    WrongToken {
        /// Where.
        address: String,
    },
}

/// Somebody else is there.
#[derive(Debug, thiserror::Error)]
#[error(
    "{address} is not the {door} door of a server\nhint: that is where listen.{setting} says, {default} by default"
)]
pub(crate) struct WrongDoor {
    pub(super) address: String,
    pub(super) door: &'static str,
    pub(super) setting: &'static str,
    pub(super) default: &'static str,
}
