//! Who we are to servers, and how that is proved: by a password of the address or of a file.

use std::path::PathBuf;

use redis::{Cmd, RedisConnectionInfo};

use super::secret::Secret;

/// A user and where the password is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
    /// Wins over the password, and is read again for every connection.
    pub(crate) file: Option<PathBuf>,
}

impl Credentials {
    /// The password as it is now.
    pub(crate) async fn password(&self) -> std::io::Result<Option<Secret>> {
        let Some(path) = self.file.clone() else { return Ok(self.password.clone()) };
        let text = tokio::task::spawn_blocking(move || std::fs::read_to_string(path)).await??;
        Ok(Some(Secret::new(text.trim_end_matches(['\r', '\n']))))
    }

    /// Puts them into what a connection begins with.
    pub(crate) fn introduce(
        &self,
        password: Option<&Secret>,
        mut info: RedisConnectionInfo,
    ) -> RedisConnectionInfo {
        if let Some(user) = &self.user {
            info = info.set_username(user);
        }
        match password {
            Some(password) => info.set_password(password.reveal()),
            None => info,
        }
    }

    /// The command that proves who we are on a connection that exists.
    pub(crate) fn command(&self, password: &Secret) -> Cmd {
        let mut command = redis::cmd("AUTH");
        if let Some(user) = &self.user {
            command.arg(user);
        }
        command.arg(password.reveal());
        command
    }
}
