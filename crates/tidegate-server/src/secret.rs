//! Secrets come from files, so that they stand in no list of processes and several servers can share them.

mod follow;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use tidegate_frontend::door::PartitionSecret;
use tidegate_frontend::resp::Password;

use crate::error::Error;

pub(crate) use follow::{Kept, follow};

/// A file with a secret, and the setting that names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File<'p> {
    pub(crate) setting: &'static str,
    pub(crate) path: &'p Path,
}

impl File<'_> {
    fn text(self) -> Result<String, Error> {
        std::fs::read_to_string(self.path).map_err(|error| self.wrong(error.to_string()))
    }

    fn wrong(self, reason: impl Into<String>) -> Error {
        Error::Secret { setting: self.setting, path: self.path.to_owned(), reason: reason.into() }
    }
}

/// The secret of partition keys in a file.
pub(crate) fn read(file: File<'_>) -> Result<PartitionSecret, Error> {
    bytes(file).map(PartitionSecret::new)
}

/// The password in a file, kept up with from now on.
pub(crate) fn keep_password(file: File<'_>, kept: &mut Vec<Kept>) -> Result<Password, Error> {
    let password = Password::new(line(file)?.as_bytes());
    let known = password.clone();
    kept.push(Kept::new(file, move |file| Ok(known.replace(line(file)?.as_bytes()))));
    Ok(password)
}

/// The first line of a file that has no other.
fn line(file: File<'_>) -> Result<String, Error> {
    let text = file.text()?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let password = password.strip_suffix('\r').unwrap_or(password);
    if password.is_empty() || password.contains(['\n', '\r']) {
        return Err(file.wrong("write the password on one line"));
    }
    Ok(password.to_owned())
}

/// The secret of a file: 32 hexadecimal digits.
pub(crate) fn bytes(file: File<'_>) -> Result<[u8; 16], Error> {
    let text = file.text()?;
    let secret = u128::from_str_radix(text.trim(), 16).ok();
    let digits = text.trim().bytes().filter(u8::is_ascii_hexdigit).count();
    let secret = secret.filter(|_| text.trim().len() == 32 && digits == 32);
    let write = "write 32 hexadecimal digits, as from openssl rand -hex 16";
    secret.map(u128::to_be_bytes).ok_or_else(|| file.wrong(write))
}

/// A word that callers must know. Clones are the same: what one is told, all know.
#[derive(Clone)]
pub(crate) struct Token(Arc<RwLock<Vec<u8>>>);

impl Token {
    /// The shortest that cannot be guessed.
    const LEAST: usize = 16;

    /// That of a file: its first line.
    pub(crate) fn read(file: File<'_>) -> Result<Self, Error> {
        Ok(Self(Arc::new(RwLock::new(Self::bytes(file)?))))
    }

    /// Takes what the file says now; whether it was something else.
    pub(crate) fn renew(&self, file: File<'_>) -> Result<bool, Error> {
        let bytes = Self::bytes(file)?;
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = *known != bytes;
        *known = bytes;
        Ok(is_new)
    }

    fn bytes(file: File<'_>) -> Result<Vec<u8>, Error> {
        let text = file.text()?;
        let token = text.lines().next().unwrap_or_default().trim();
        if token.len() < Self::LEAST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let write = "write at least 16 letters and digits without spaces, as from openssl rand -hex 16";
            return Err(file.wrong(write));
        }
        Ok(token.as_bytes().to_vec())
    }

    /// Whether an `Authorization` says it.
    pub(crate) fn is_in(&self, authorization: &[u8]) -> bool {
        let Some((scheme, word)) = authorization.split_at_checked(b"Bearer ".len()) else { return false };
        scheme.eq_ignore_ascii_case(b"Bearer ") && self.is(word)
    }

    /// Whether that is it. How long this takes does not tell how much of it was right.
    pub(crate) fn is(&self, word: &[u8]) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let differs = known.iter().zip(word).fold(0, |differs, (own, other)| differs | (own ^ other));
        known.len() == word.len() && differs == 0
    }
}

/// It stays in here.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path) -> File<'_> {
        File { setting: "admin.token_file", path }
    }

    fn password(path: &Path) -> Result<Password, Error> {
        keep_password(file(path), &mut Vec::new())
    }

    #[test]
    fn a_token_is_known_by_its_whole_word() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        let token = Token::read(file(&path)).unwrap();
        assert!(token.is_in(b"Bearer 0123456789abcdef") && token.is_in(b"bearer 0123456789abcdef"));
        for wrong in ["", "Bearer", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0"] {
            assert!(!token.is_in(wrong.as_bytes()), "{wrong}");
        }
        assert!(!token.is_in(b"Basic 0123456789abcdef") && !token.is_in(b"0123456789abcdef"));
        for bad in ["", "short", "with a space in between"] {
            std::fs::write(&path, bad).unwrap();
            let error = Token::read(file(&path)).unwrap_err();
            assert!(bad.is_empty() || !error.to_string().contains(bad), "{error}");
            assert!(error.to_string().starts_with("admin.token_file: the secret in "), "{error}");
        }
    }

    #[test]
    fn a_token_that_cannot_be_used_keeps_the_one_that_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        let token = Token::read(file(&path)).unwrap();
        assert!(!token.renew(file(&path)).unwrap(), "it is the same");
        for bad in ["", "short"] {
            std::fs::write(&path, bad).unwrap();
            token.renew(file(&path)).unwrap_err();
            assert!(token.is_in(b"Bearer 0123456789abcdef"));
        }
        std::fs::write(&path, "fedcba9876543210").unwrap();
        assert!(token.renew(file(&path)).unwrap());
        assert!(token.is_in(b"Bearer fedcba9876543210") && !token.is_in(b"Bearer 0123456789abcdef"));
    }

    #[test]
    fn a_password_is_one_line_and_is_never_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        for good in ["hunter2", "hunter2\n", "hunter2\r\n", " with spaces "] {
            std::fs::write(&path, good).unwrap();
            assert!(password(&path).is_ok(), "{good:?}");
        }
        for bad in ["", "\n", "hunter2\nhunter3\n", "hunter2\n\n"] {
            std::fs::write(&path, bad).unwrap();
            let error = password(&path).err().unwrap();
            assert!(error.is_configuration());
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        assert!(password(&folder.path().join("nowhere")).is_err());
    }

    #[test]
    fn a_secret_is_sixteen_bytes_and_is_never_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "000102030405060708090a0b0c0d0e0f\n").unwrap();
        let expected: [u8; 16] = std::array::from_fn(|index| u8::try_from(index).unwrap());
        assert_eq!(read(file(&path)).unwrap(), PartitionSecret::new(expected));
        for bad in ["", "hunter2", "+00102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff00"] {
            std::fs::write(&path, bad).unwrap();
            let error = read(file(&path)).err().unwrap();
            assert!(error.is_configuration());
            assert!(bad.is_empty() || !error.to_string().contains(bad), "{error}");
        }
    }
}
