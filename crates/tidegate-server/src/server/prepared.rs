//! What is read before anything starts: secrets, whom to believe, certificates. It can be read to see whether a server would
//! start, too.

use std::path::PathBuf;
use std::sync::Arc;

use tidegate_wire::door::PartitionSecret;
use tidegate_wire::resp::Password;

use crate::callers::{self, Callers};
use crate::config::{Config, sense};
use crate::error::Error;
use crate::secret::{self, File, Kept, Token};
use crate::stack;
use crate::tls::Tls;

/// All of it.
pub(super) struct Prepared {
    pub(super) secret: Option<PartitionSecret>,
    pub(super) admin_token: Option<Token>,
    pub(super) http_token: Option<Token>,
    pub(super) callers: Callers,
    pub(super) password: Option<Password>,
    pub(super) tls: Option<Arc<Tls>>,
    /// What is kept up with.
    pub(super) kept: Vec<Kept>,
}

/// Says what is wrong with settings, and with what they name: everything that would keep a server from starting, but for its
/// rules and the world.
pub fn check(config: &Config) -> Result<(), Error> {
    Prepared::read(config)?;
    stack::check(config)
}

impl Prepared {
    /// Reads it, if the settings go together.
    pub(super) fn read(config: &Config) -> Result<Self, Error> {
        sense::check(config)?;
        let mut kept = Vec::new();
        let secret = file("headers.partition_secret", config.partition_secret.as_ref()).map(secret::read);
        let admin_token = file("admin.token_file", config.admin_token.as_ref());
        let admin_token = admin_token.map(|file| callers::keep(file, &mut kept));
        let http_token = file("http.token_file", config.http_token.as_ref());
        let http_token = http_token.map(|file| callers::keep(file, &mut kept));
        let password = file("resp.password_file", config.resp.password_file.as_ref());
        let password = password.map(|file| secret::keep_password(file, &mut kept));
        Ok(Self {
            secret: secret.transpose()?,
            admin_token: admin_token.transpose()?,
            http_token: http_token.transpose()?,
            callers: Callers::read(config, &mut kept)?,
            password: password.transpose()?,
            tls: Tls::open(&config.tls)?,
            kept,
        })
    }
}

fn file<'p>(setting: &'static str, path: Option<&'p PathBuf>) -> Option<File<'p>> {
    path.map(|path| File { setting, path })
}
