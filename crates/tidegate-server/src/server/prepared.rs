//! What is read before anything starts: secrets, whom to believe, certificates. It can be read to see whether a server would
//! start, too.

use std::path::PathBuf;
use std::sync::Arc;

use tidegate_frontend::door::PartitionSecret;
use tidegate_frontend::resp::Password;

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
    Error::both(Prepared::read(config), stack::check(config)).map(drop)
}

impl Prepared {
    /// Reads it, if the settings go together; all that is wrong with either.
    pub(super) fn read(config: &Config) -> Result<Self, Error> {
        let mut kept = Vec::new();
        let secret = file("headers.partition_secret", config.partition_secret.as_ref()).map(secret::read);
        let mut token =
            |setting, path| file(setting, path).map(|file| callers::keep(file, &mut kept)).transpose();
        let admin_token = token("admin.token_file", config.admin_token.as_ref());
        let http_token = token("http.token_file", config.http_token.as_ref());
        let password = file("resp.password_file", config.resp.password_file.as_ref());
        let password = password.map(|file| secret::keep_password(file, &mut kept));
        let settings = Error::both(sense::check(config), secret.transpose());
        let tokens = Error::both(Error::both(admin_token, http_token), password.transpose());
        let callers = Error::both(Callers::read(config, &mut kept), Tls::open(&config.tls));
        let ((((), secret), tokens), (callers, tls)) = Error::both(Error::both(settings, tokens), callers)?;
        let ((admin_token, http_token), password) = tokens;
        Ok(Self { secret, admin_token, http_token, callers, password, tls, kept })
    }
}

fn file<'p>(setting: &'static str, path: Option<&'p PathBuf>) -> Option<File<'p>> {
    path.map(|path| File { setting, path })
}
