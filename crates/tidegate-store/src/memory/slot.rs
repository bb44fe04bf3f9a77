//! A counter in 16 bytes: a name and a word. A wide one has 32, and two more words.
//!
//! The name is 60 bits of a keyed hash of the counter's key, the upper bits of the number of its limit, and a lock bit. The
//! word is the lower bits of that number and the packed state. A name of 0 is a free place.
//!
//! Whoever holds the lock bit may change both; nobody else does. The holder stores the word, then the name without the lock
//! bit, both releasing: who sees that name sees the word, and who sees the word sees that the bit was set. Readers take the
//! name, the word and the name again, acquiring: if the names are alike and not locked, the word was that name's at some
//! instant in between. That holds on machines that reorder (aarch64) as well; on x86 these are plain loads and stores.

use tidegate_core::{PACKED_BITS, Packed};

use super::sync::{AtomicU64, Ordering, fence, pause};

const LOCK: u64 = 1 << 63;
const HASH_BITS: u32 = 60;
const HASH_MASK: u64 = (1 << HASH_BITS) - 1;
/// Bits of a limit's number in the word; the others are in the name.
const LOW_BITS: u32 = u64::BITS - PACKED_BITS;

/// Bits of a packed state in the word.
const WORD_MASK: u64 = (1 << PACKED_BITS) - 1;

/// The largest number of a limit.
pub(super) const MAX_NUMBER: u16 = (1 << (LOW_BITS + 3)) - 1;

/// The identity of a counter: 60 bits, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hash(u64);

#[expect(clippy::cast_possible_truncation, reason = "some bits of it are meant")]
impl Hash {
    pub(super) const fn new(hash: u64) -> Self {
        match hash & HASH_MASK {
            0 => Self(1),
            bits => Self(bits),
        }
    }

    /// Bits that select the first line of a counter in its segment.
    #[inline]
    pub(super) const fn first(self) -> u32 {
        (self.0 >> (HASH_BITS - 32)) as u32
    }

    /// Bits that select the second.
    #[inline]
    pub(super) const fn second(self) -> u32 {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
    }

    /// All of it.
    pub(super) const fn bits(self) -> u64 {
        self.0
    }
}

/// What a slot holds, as it lies there: a counter, the number of the limit that left its state, and the packed state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    /// Without the lock bit, never 0.
    name: u64,
    word: u64,
    /// 0 in a narrow slot.
    more: [u64; 2],
}

/// A place for a counter.
#[derive(Clone, Copy)]
pub(super) struct Slot<'a> {
    name: &'a AtomicU64,
    word: &'a AtomicU64,
    /// What a wide one has in addition.
    more: Option<&'a [AtomicU64; 2]>,
}

impl Content {
    pub(super) const fn new(hash: Hash, number: u16, packed: Packed) -> Self {
        let name = hash.0 | (number as u64 >> LOW_BITS) << HASH_BITS;
        Self { name, word: (number as u64) << PACKED_BITS | packed.word, more: packed.more }
    }

    /// What lies in a slot; `None` if it is free.
    #[inline]
    fn of(name: u64, word: u64, more: [u64; 2]) -> Option<Self> {
        (name & HASH_MASK != 0).then_some(Self { name: name & !LOCK, word, more })
    }

    /// The same with another state, left by the same limit.
    #[inline]
    pub(super) const fn with(self, packed: Packed) -> Self {
        Self { word: self.word & !WORD_MASK | packed.word, more: packed.more, ..self }
    }

    #[inline]
    pub(super) const fn hash(self) -> Hash {
        Hash(self.name & HASH_MASK)
    }

    /// The number of the limit that left the state.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "of 15 bits")]
    pub(super) const fn number(self) -> u16 {
        (self.name >> HASH_BITS << LOW_BITS | self.word >> PACKED_BITS) as u16
    }

    #[inline]
    pub(super) const fn packed(self) -> Packed {
        Packed { word: self.word & WORD_MASK, more: self.more }
    }
}

impl<'a> Slot<'a> {
    #[inline]
    pub(super) const fn new(
        name: &'a AtomicU64,
        word: &'a AtomicU64,
        more: Option<&'a [AtomicU64; 2]>,
    ) -> Self {
        Self { name, word, more }
    }

    /// The order in which lock bits are taken: that of the slots in memory.
    pub(super) fn order(self) -> usize {
        std::ptr::from_ref(self.name).addr()
    }

    /// Whether it is, or is about to be, that counter's.
    #[inline]
    pub(super) fn is_of(self, hash: Hash) -> bool {
        self.name.load(Ordering::Acquire) & HASH_MASK == hash.0
    }

    pub(super) fn is_free(self) -> bool {
        self.name.load(Ordering::Acquire) == 0
    }

    /// What it held at some instant while this looked; waits while somebody changes it. `None` if it is free, or if
    /// `given_up` says that it is no use to wait.
    #[inline]
    pub(super) fn look(self, given_up: impl Fn() -> bool) -> Option<Content> {
        let mut looks = 0;
        loop {
            let name = self.name.load(Ordering::Acquire);
            let (word, more) = (self.word.load(Ordering::Acquire), self.more(Ordering::Acquire));
            fence(Ordering::Acquire);
            if name & LOCK == 0 && self.name.load(Ordering::Relaxed) == name {
                return Content::of(name, word, more);
            }
            if given_up() {
                return None;
            }
            pause(&mut looks);
        }
    }

    /// Takes the lock bit, if it still is as it was seen; `false` if it is not, or if somebody else has it.
    #[inline]
    pub(super) fn lock_as(self, seen: Content) -> bool {
        let name = seen.name;
        let locked = self.name.compare_exchange(name, name | LOCK, Ordering::Acquire, Ordering::Relaxed);
        let is_same = locked.is_ok()
            && self.word.load(Ordering::Relaxed) == seen.word
            && self.more(Ordering::Relaxed) == seen.more;
        if locked.is_ok() && !is_same {
            self.unlock();
        }
        is_same
    }

    /// Takes the lock bit of a place that is a counter's; `false` if it is not, or if `given_up` says that it is no use to wait.
    pub(super) fn lock_of(self, hash: Hash, given_up: impl Fn() -> bool) -> bool {
        let mut looks = 0;
        while self.is_of(hash) {
            if self.try_lock() {
                let is_ours = self.is_of(hash);
                if !is_ours {
                    self.unlock();
                }
                return is_ours;
            }
            if given_up() {
                return false;
            }
            pause(&mut looks);
        }
        false
    }

    /// Takes the lock bit; `false` if `given_up` says that it is no use to wait.
    pub(super) fn lock(self, given_up: impl Fn() -> bool) -> bool {
        let mut looks = 0;
        while !self.try_lock() {
            if given_up() {
                return false;
            }
            pause(&mut looks);
        }
        true
    }

    /// Takes the lock bit, if it is free to take.
    pub(super) fn try_lock(self) -> bool {
        let name = self.name.load(Ordering::Relaxed);
        name & LOCK == 0
            && self.name.compare_exchange(name, name | LOCK, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// What it holds; for the holder of the lock bit.
    pub(super) fn held(self) -> Option<Content> {
        let (name, word) = (self.name.load(Ordering::Relaxed), self.word.load(Ordering::Relaxed));
        Content::of(name, word, self.more(Ordering::Relaxed))
    }

    /// Gives the lock bit back with that content in place of what was there.
    #[inline]
    pub(super) fn unlock_with(self, content: Content) {
        // Releasing too: a reader that sees this word must not take the name from before the lock bit was set for it.
        self.word.store(content.word, Ordering::Release);
        if let Some(more) = self.more {
            more[0].store(content.more[0], Ordering::Release);
            more[1].store(content.more[1], Ordering::Release);
        }
        self.name.store(content.name, Ordering::Release);
    }

    /// Gives the lock bit back and the place with it.
    pub(super) fn unlock_free(self) {
        self.name.store(0, Ordering::Release);
    }

    /// Gives the lock bit back and changes nothing.
    pub(super) fn unlock(self) {
        let name = self.name.load(Ordering::Relaxed);
        self.name.store(name & !LOCK, Ordering::Release);
    }

    #[inline]
    fn more(self, ordering: Ordering) -> [u64; 2] {
        self.more.map_or([0; 2], |[first, second]| [first.load(ordering), second.load(ordering)])
    }

    /// Takes a free place and the lock bit with it.
    pub(super) fn claim(self) -> bool {
        self.name.compare_exchange(0, LOCK, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_read_as_it_was_written() {
        for number in [1, 4_095, 4_096, MAX_NUMBER] {
            for word in [0, 1, (1 << PACKED_BITS) - 1] {
                let (words, more) = (<[AtomicU64; 2]>::default(), <[AtomicU64; 2]>::default());
                for (is_wide, values) in [(false, [0; 2]), (true, [u64::MAX, 7])] {
                    let packed = Packed { word, more: values };
                    let content = Content::new(Hash::new(u64::MAX), number, packed);
                    assert_eq!((content.hash(), content.number()), (Hash::new(u64::MAX), number));
                    assert_eq!(content.packed(), packed);
                    let slot = Slot::new(&words[0], &words[1], is_wide.then_some(&more));
                    assert!(slot.is_free() && slot.claim() && !slot.is_free() && !slot.try_lock());
                    slot.unlock_with(content);
                    assert_eq!(slot.look(|| false), Some(content));
                    assert!(slot.is_of(content.hash()) && slot.lock_as(content));
                    slot.unlock_free();
                }
            }
        }
    }

    #[test]
    fn a_free_place_has_no_content() {
        let words = <[AtomicU64; 2]>::default();
        let slot = Slot::new(&words[0], &words[1], None);
        assert_eq!(slot.look(|| false), None);
        assert!(slot.try_lock());
        assert_eq!((slot.held(), slot.look(|| true)), (None, None));
        slot.unlock();
        assert!(slot.is_free());
    }
}
