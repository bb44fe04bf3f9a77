//! What is read before anything starts: secrets, whom to believe, certificates. It can be read to see whether a server would
//! start, too.

use std::path::PathBuf;
use std::sync::Arc;

use tidegate_frontend::door::PartitionSecret;
use tidegate_frontend::resp::Password;
use tidegate_net::secret::{BearerToken, FollowedSecret, SecretFile};
use tidegate_net::tls::TlsContext;

use crate::callers::Callers;
use crate::config::{Config, sense};
use crate::error::Error;
use crate::stack;

/// All of it.
pub(super) struct Prepared {
    pub(super) secret: Option<PartitionSecret>,
    pub(super) admin_token: Option<BearerToken>,
    pub(super) http_token: Option<BearerToken>,
    pub(super) callers: Callers,
    pub(super) password: Option<Password>,
    pub(super) tls: Option<Arc<TlsContext>>,
    /// The secrets that follow their files.
    pub(super) followed: Vec<FollowedSecret>,
}

/// Says what is wrong with settings, and with what they name: everything that would keep a server from starting, but for its
/// rules and the world.
pub fn check(config: &Config) -> Result<(), Error> {
    Error::both(Prepared::read(config), stack::check(config)).map(drop)
}

impl Prepared {
    /// Reads it, if the settings go together; all that is wrong with either.
    pub(super) fn read(config: &Config) -> Result<Self, Error> {
        let mut followed = Vec::new();
        let secret = file("headers.partition_secret", config.partition_secret.as_ref()).map(partition_secret);
        let mut token = |setting, path| {
            let token = file(setting, path).map(|file| BearerToken::read_followed(file, &mut followed));
            token.transpose().map_err(Error::from)
        };
        let admin_token = token("admin.token_file", config.admin_token.as_ref());
        let http_token = token("http.token_file", config.http_token.as_ref());
        let password = file("resp.password_file", config.resp.password_file.as_ref());
        let password = password.map(|file| followed_password(file, &mut followed));
        let settings = Error::both(sense::check(config), secret.transpose());
        let tokens = Error::both(Error::both(admin_token, http_token), password.transpose());
        let callers = Error::both(Callers::read(config, &mut followed), open_tls(config));
        let ((((), secret), tokens), (callers, tls)) = Error::both(Error::both(settings, tokens), callers)?;
        let ((admin_token, http_token), password) = tokens;
        Ok(Self { secret, admin_token, http_token, callers, password, tls, followed })
    }
}

fn file<'p>(setting: &'static str, path: Option<&'p PathBuf>) -> Option<SecretFile<'p>> {
    path.map(|path| SecretFile { setting, path })
}

fn open_tls(config: &Config) -> Result<Option<Arc<TlsContext>>, Error> {
    Ok(TlsContext::open(&config.tls.files, "tls")?)
}

fn partition_secret(file: SecretFile<'_>) -> Result<PartitionSecret, Error> {
    Ok(PartitionSecret::new(file.hex_key()?))
}

/// Reads the password of a file, and again whenever it changes.
fn followed_password(file: SecretFile<'_>, followed: &mut Vec<FollowedSecret>) -> Result<Password, Error> {
    let password = Password::new(file.line()?.as_bytes());
    let known = password.clone();
    followed.push(FollowedSecret::new(file, move |file| Ok(known.replace(file.line()?.as_bytes()))));
    Ok(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_become_what_they_are_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let file = SecretFile { setting: "headers.partition_secret", path: &path };
        std::fs::write(&path, "000102030405060708090a0b0c0d0e0f\n").unwrap();
        let expected: [u8; 16] = std::array::from_fn(|index| u8::try_from(index).unwrap());
        assert_eq!(partition_secret(file).unwrap(), PartitionSecret::new(expected));
        let mut followed = Vec::new();
        assert!(followed_password(file, &mut followed).is_ok() && followed.len() == 1);
        std::fs::write(&path, "hunter2\nhunter3\n").unwrap();
        for error in
            [partition_secret(file).err().unwrap(), followed_password(file, &mut followed).err().unwrap()]
        {
            assert!(error.is_configuration());
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        assert_eq!(followed.len(), 1);
    }
}
