//! What can be chosen about a client, with defaults for all of it.

use std::path::PathBuf;
use std::time::Duration;

use tidegate_core::breaker::Tolerance;
use tokio::runtime::Handle;

use crate::Script;

/// How a client behaves.
#[derive(Clone)]
pub struct Settings {
    /// How long the answer to a call is waited for.
    pub deadline: Duration,
    /// Connections to each server, for each lane.
    pub connections: usize,
    /// Runtimes with connections of their own: calls from a thread that [stays on a lane](super::stay_on_lane) go over those of its
    /// runtime, so that they do not change threads. Without any, all are on the client's own.
    pub lanes: Vec<Handle>,
    /// Calls that may be under way to one server.
    pub calls_in_flight: usize,
    /// When a server that fails is left alone, and for how long.
    pub tolerance: Tolerance,
    /// How long a connection may take to be made, and a server to answer when it is only asked whether it is there.
    pub patience: Duration,
    /// How often it is looked whether masters have changed while nothing seems wrong.
    pub look_around: Duration,
    /// Scripts that servers are given as soon as they are connected.
    pub scripts: &'static [&'static Script],
    /// A file with the password, read again when it changes, in place of the address's.
    pub password_file: Option<PathBuf>,
    /// Who we are to sentinels, and the file with the password for them.
    pub sentinel: Login,
    /// Certificates of encrypted connections.
    pub certificates: Certificates,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            deadline: Duration::from_millis(10),
            connections: 1,
            lanes: Vec::new(),
            calls_in_flight: 4096,
            tolerance: Tolerance::default(),
            patience: Duration::from_millis(500),
            look_around: Duration::from_millis(1500),
            scripts: &[],
            password_file: None,
            sentinel: Login::default(),
            certificates: Certificates::default(),
        }
    }
}

/// A name and the file with its password.
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// The user; the default user if there is none.
    pub user: Option<String>,
    /// The file with the password.
    pub password_file: Option<PathBuf>,
}

/// Files with certificates, in PEM format.
#[derive(Clone, Debug, Default)]
pub struct Certificates {
    /// Whom to trust; the system's own roots if there is none.
    pub authorities: Option<PathBuf>,
    /// Who we are, for servers that want to know, and the private key.
    pub own: Option<(PathBuf, PathBuf)>,
}
