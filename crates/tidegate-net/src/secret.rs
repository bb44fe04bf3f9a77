//! Secrets in files, so that no list of processes shows them and several servers can share them.

mod follow;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use crate::Error;

pub use follow::{FollowedSecret, follow};

/// The file of a secret, and the setting that names it.
#[derive(Clone, Copy, Debug)]
pub struct SecretFile<'p> {
    /// The key of the setting, for messages.
    pub setting: &'static str,
    /// The path of the file.
    pub path: &'p Path,
}

impl SecretFile<'_> {
    /// A password: the only line of the file.
    pub fn line(self) -> Result<String, Error> {
        let text = self.text()?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() || line.contains(['\n', '\r']) {
            return Err(self.unusable("write the password on one line"));
        }
        Ok(line.to_owned())
    }

    /// A key of 16 bytes, written as 32 hexadecimal digits.
    pub fn hex_key(self) -> Result<[u8; 16], Error> {
        let text = self.text()?;
        let key = u128::from_str_radix(text.trim(), 16).ok();
        let digits = text.trim().bytes().filter(u8::is_ascii_hexdigit).count();
        let key = key.filter(|_| text.trim().len() == 32 && digits == 32);
        let write = "write 32 hexadecimal digits, as from openssl rand -hex 16";
        key.map(u128::to_be_bytes).ok_or_else(|| self.unusable(write))
    }

    fn text(self) -> Result<String, Error> {
        std::fs::read_to_string(self.path).map_err(|error| self.unusable(error.to_string()))
    }

    fn unusable(self, reason: impl Into<String>) -> Error {
        Error::Secret { setting: self.setting, path: self.path.to_owned(), reason: reason.into() }
    }
}

/// A token that callers send with their requests. Clones share it: a renewal reaches all of them.
#[derive(Clone)]
pub struct BearerToken(Arc<RwLock<Vec<u8>>>);

impl BearerToken {
    /// A shorter token could be guessed.
    const MIN_BYTES: usize = 16;

    /// Reads the first line of a file.
    pub fn read(file: SecretFile<'_>) -> Result<Self, Error> {
        Ok(Self(Arc::new(RwLock::new(Self::bytes(file)?))))
    }

    /// Reads a file, and again whenever it changes.
    pub fn read_followed(file: SecretFile<'_>, followed: &mut Vec<FollowedSecret>) -> Result<Self, Error> {
        let token = Self::read(file)?;
        let known = token.clone();
        followed.push(FollowedSecret::new(file, move |file| known.renew(file)));
        Ok(token)
    }

    /// Takes the token that the file holds now; whether it is another one. A file that cannot be used
    /// leaves the token as it was.
    pub fn renew(&self, file: SecretFile<'_>) -> Result<bool, Error> {
        let bytes = Self::bytes(file)?;
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = *known != bytes;
        *known = bytes;
        Ok(is_new)
    }

    fn bytes(file: SecretFile<'_>) -> Result<Vec<u8>, Error> {
        let text = file.text()?;
        let token = text.lines().next().unwrap_or_default().trim();
        if token.len() < Self::MIN_BYTES || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let write = "write at least 16 letters and digits without spaces, as from openssl rand -hex 16";
            return Err(file.unusable(write));
        }
        Ok(token.as_bytes().to_vec())
    }

    /// Whether the value of an `Authorization` header is `Bearer` and this token.
    pub fn matches_authorization(&self, value: &[u8]) -> bool {
        let Some((scheme, word)) = value.split_at_checked(b"Bearer ".len()) else { return false };
        scheme.eq_ignore_ascii_case(b"Bearer ") && self.matches(word)
    }

    /// Whether a word is this token. Compares in constant time, so that timing reveals no prefix.
    pub fn matches(&self, word: &[u8]) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let differs = known.iter().zip(word).fold(0, |differs, (own, other)| differs | (own ^ other));
        known.len() == word.len() && differs == 0
    }
}

/// Does not print the token.
impl std::fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BearerToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path) -> SecretFile<'_> {
        SecretFile { setting: "admin.token_file", path }
    }

    #[test]
    fn a_token_matches_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        let token = BearerToken::read(file(&path)).unwrap();
        for right in [b"Bearer 0123456789abcdef", b"bearer 0123456789abcdef"] {
            assert!(token.matches_authorization(right));
        }
        for wrong in ["", "Bearer", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0"] {
            assert!(!token.matches_authorization(wrong.as_bytes()), "{wrong}");
        }
        assert!(!token.matches_authorization(b"Basic 0123456789abcdef"));
        assert!(!token.matches_authorization(b"0123456789abcdef"));
        for bad in ["", "short", "with a space in between"] {
            std::fs::write(&path, bad).unwrap();
            let error = BearerToken::read(file(&path)).unwrap_err();
            assert!(bad.is_empty() || !error.to_string().contains(bad), "{error}");
            assert!(error.to_string().starts_with("admin.token_file: the secret in "), "{error}");
        }
    }

    #[test]
    fn an_unusable_file_keeps_the_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        let token = BearerToken::read(file(&path)).unwrap();
        assert!(!token.renew(file(&path)).unwrap(), "it is the same");
        for bad in ["", "short"] {
            std::fs::write(&path, bad).unwrap();
            token.renew(file(&path)).unwrap_err();
            assert!(token.matches_authorization(b"Bearer 0123456789abcdef"));
        }
        std::fs::write(&path, "fedcba9876543210").unwrap();
        assert!(token.renew(file(&path)).unwrap());
        assert!(token.matches_authorization(b"Bearer fedcba9876543210"));
        assert!(!token.matches_authorization(b"Bearer 0123456789abcdef"));
    }

    #[test]
    fn errors_never_repeat_a_password() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        for good in ["hunter2", "hunter2\n", "hunter2\r\n", " with spaces "] {
            std::fs::write(&path, good).unwrap();
            assert_eq!(file(&path).line().unwrap(), good.trim_end_matches(['\r', '\n']));
        }
        for bad in ["", "\n", "hunter2\nhunter3\n", "hunter2\n\n"] {
            std::fs::write(&path, bad).unwrap();
            let error = file(&path).line().unwrap_err();
            assert!(error.is_configuration());
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        assert!(file(&folder.path().join("nowhere")).line().is_err());
    }

    #[test]
    fn errors_never_repeat_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "000102030405060708090a0b0c0d0e0f\n").unwrap();
        let expected: [u8; 16] = std::array::from_fn(|index| u8::try_from(index).unwrap());
        assert_eq!(file(&path).hex_key().unwrap(), expected);
        for bad in ["", "hunter2", "+00102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff00"] {
            std::fs::write(&path, bad).unwrap();
            let error = file(&path).hex_key().unwrap_err();
            assert!(error.is_configuration());
            assert!(bad.is_empty() || !error.to_string().contains(bad), "{error}");
        }
    }
}
