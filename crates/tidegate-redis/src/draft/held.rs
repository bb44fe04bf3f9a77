//! What a reservation holds, and what tells it apart from another one under the same ticket.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

use super::Draft;

/// What a reservation holds: a draft for each call that it takes.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) drafts: Vec<Draft>,
    /// Whether its drafts are written down with another server than its counters.
    pub(crate) apart: bool,
}

/// A number that tells plans apart: their counters with their limits, and their charges. What is written of them is hashed under a
/// secret already.
pub(crate) type Fingerprint = [u8; 8];

impl Held {
    /// All of these drafts together, each with the fingerprint of the whole.
    pub(crate) fn new(drafts: Vec<Draft>, apart: bool) -> Self {
        let mut held = Self { drafts, apart };
        let fingerprint = held.worked_out();
        held.drafts.iter_mut().for_each(|draft| draft.fingerprint = fingerprint);
        held
    }

    /// What its records carry.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.drafts.first().map_or([0; 8], |draft| draft.fingerprint)
    }

    fn worked_out(&self) -> Fingerprint {
        let mut hasher = SipHasher13::new();
        let mut put = |bytes: &[u8]| {
            hasher.write_u64(bytes.len() as u64);
            hasher.write(bytes);
        };
        for draft in &self.drafts {
            put(&draft.indices);
            for place in &draft.places {
                put(&[place.form as u8]);
                put(&place.key);
            }
            put(&draft.counters);
            put(&draft.charges);
        }
        hasher.finish().to_be_bytes()
    }
}
