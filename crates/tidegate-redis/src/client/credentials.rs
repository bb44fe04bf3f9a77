//! Who we are to servers, and how that is proved: by a password of the address or of a file.

use std::path::PathBuf;

use redis::Cmd;

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

    /// The command that proves who we are, if there is anything to say.
    pub(crate) fn command(&self, password: Option<&Secret>) -> Option<Cmd> {
        let mut command = redis::cmd("AUTH");
        if let Some(user) = &self.user {
            command.arg(user);
        }
        command.arg(password.map(Secret::reveal).unwrap_or_default());
        (self.user.is_some() || password.is_some()).then_some(command)
    }
}
