//! The names of decisions.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use siphasher::sip::SipHasher13;
use tidegate_core::Ticket;

/// Makes tickets that nobody can guess, and that no other process has: a number, and above it its keyed hash.
pub(crate) struct Tickets {
    hasher: SipHasher13,
    next: AtomicU64,
}

impl Default for Tickets {
    fn default() -> Self {
        let key = || RandomState::new().hash_one(0);
        Self { hasher: SipHasher13::new_with_keys(key(), key()), next: AtomicU64::new(0) }
    }
}

impl Tickets {
    /// Another one.
    pub(crate) fn next(&self) -> Ticket {
        let number = self.next.fetch_add(1, Relaxed);
        Ticket(u128::from(self.hasher.hash(&number.to_le_bytes())) << 64 | u128::from(number))
    }
}

/// Without the key.
impl std::fmt::Debug for Tickets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tickets").field("next", &self.next).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_are_alike_in_either_half_whoever_makes_them() {
        let (one, other) = (Tickets::default(), Tickets::default());
        let made = (0..100).flat_map(|_| [one.next(), other.next()]);
        let (all, secrets): (HashSet<u128>, HashSet<u128>) =
            made.map(|Ticket(ticket)| (ticket, ticket >> 64)).unzip();
        assert_eq!((all.len(), secrets.len()), (200, 200));
    }

    #[test]
    fn the_key_is_not_printed() {
        assert_eq!(format!("{:?}", Tickets::default()), "Tickets { next: 0, .. }");
    }
}
