//! Who may ask: whoever knows the password, if there is one.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, PoisonError, RwLock};

use siphasher::sip128::SipHasher24;

/// The one user that there is.
pub(super) const USER: &[u8] = b"default";

/// A password, kept as its hash under a key that this process has drawn and shows to nobody. Hashes are compared, so that the time
/// it takes says nothing of the password.
///
/// Clones are the same: one can be told of a new password, and all know it. Who is let in stays in.
#[derive(Clone)]
pub struct Password {
    hasher: SipHasher24,
    hash: Arc<RwLock<u128>>,
}

impl Password {
    /// That password.
    pub fn new(password: &[u8]) -> Self {
        let key = || RandomState::new().hash_one(0);
        let hasher = SipHasher24::new_with_keys(key(), key());
        let hash = hasher.hash(password).as_u128();
        Self { hasher, hash: Arc::new(RwLock::new(hash)) }
    }

    /// From now on it is that one; whether it was another.
    pub fn replace(&self, password: &[u8]) -> bool {
        let hash = self.hasher.hash(password).as_u128();
        let mut known = self.hash.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *known, hash) != hash
    }

    /// Whether it is that one.
    pub(super) fn is(&self, word: &[u8]) -> bool {
        self.hasher.hash(word).as_u128() == *self.hash.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_itself_is_the_password() {
        let password = Password::new(b"hunter2");
        assert!(password.is(b"hunter2"));
        for other in [b"".as_slice(), b"hunter", b"hunter22", b"Hunter2", b"hunter2\0"] {
            assert!(!password.is(other));
        }
        assert_eq!(format!("{password:?}"), "Password(..)");
        assert!(!password.clone().replace(b"hunter2") && password.clone().replace(b"hunter3"));
        assert!(password.is(b"hunter3") && !password.is(b"hunter2"));
    }
}
