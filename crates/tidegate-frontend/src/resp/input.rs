//! The bytes that came and were not answered yet: one buffer, which grows for a long command only as far as that comes, and out of
//! what all connections share.

use crate::door::{Budget, Share};
use tidegate_wire::resp::{Decoder, MAX_COMMAND_BYTES};

/// What a connection begins with.
const FIRST_BYTES: usize = 4 << 10;
/// What any connection may have.
const USUAL_BYTES: usize = 16 << 10;
/// What one may have for a long command, and for what came before it.
const MOST_BYTES: usize = MAX_COMMAND_BYTES + USUAL_BYTES;

/// Bytes on their way in.
pub(super) struct Input<'d> {
    pub(super) bytes: Vec<u8>,
    /// How many of them were answered.
    pub(super) read: usize,
    pub(super) decoder: Decoder,
    budget: &'d Budget,
    /// What is held beyond the usual.
    share: Share<'d>,
}

impl<'d> Input<'d> {
    pub(super) fn new(budget: &'d Budget) -> Self {
        let decoder = Decoder::default();
        Self { bytes: Vec::new(), read: 0, decoder, budget, share: budget.share() }
    }

    /// A place behind what is there, with room for more; `None` if others have too much of it.
    pub(super) fn room(&mut self) -> Option<&mut Vec<u8>> {
        let was_full = self.bytes.len() == self.bytes.capacity();
        self.forget();
        let capacity = self.bytes.capacity();
        if self.bytes.len() == capacity || (was_full && capacity < USUAL_BYTES) {
            self.grow(capacity)?;
        }
        Some(&mut self.bytes)
    }

    /// Whether part of a command is there.
    pub(super) fn is_between(&self) -> bool {
        self.read == self.bytes.len() && self.decoder.is_between()
    }

    /// Lets go of what was answered, and of room that is not usual.
    fn forget(&mut self) {
        self.read += self.decoder.take();
        self.bytes.drain(..self.read.min(self.bytes.len()));
        self.read = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > USUAL_BYTES {
            self.bytes = Vec::new();
            self.share = self.budget.share();
        }
    }

    fn grow(&mut self, capacity: usize) -> Option<()> {
        let wanted = (capacity * 2).clamp(FIRST_BYTES, MOST_BYTES);
        let beyond = wanted.saturating_sub(capacity.max(USUAL_BYTES));
        if wanted <= capacity || (beyond > 0 && !self.share.grow(beyond)) {
            return None;
        }
        self.bytes.reserve_exact(wanted - self.bytes.len());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds so many bytes of one endless word; whether there was room.
    fn feed(input: &mut Input<'_>, mut bytes: usize) -> bool {
        while bytes > 0 {
            let Some(room) = input.room() else { return false };
            let more = (room.capacity() - room.len()).min(bytes);
            room.resize(room.len() + more, b'x');
            bytes -= more;
        }
        true
    }

    #[test]
    fn a_connection_begins_small_and_gives_back_what_it_does_not_need() {
        let budget = Budget::new(1 << 20);
        let mut input = Input::new(&budget);
        assert_eq!(input.bytes.capacity(), 0);
        assert_eq!(input.room().map(|room| room.capacity()), Some(FIRST_BYTES));
        assert!(feed(&mut input, 40 << 10));
        assert_eq!(budget.taken(), (64 << 10) - USUAL_BYTES);
        input.read = input.bytes.len();
        assert_eq!(input.room().map(|room| room.capacity()), Some(FIRST_BYTES));
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn who_sends_much_at_a_time_is_read_in_larger_parts_up_to_the_usual() {
        let budget = Budget::new(0);
        let mut input = Input::new(&budget);
        for expected in [4, 8, 16, 16, 16] {
            let room = input.room().expect("the usual is always there");
            assert_eq!(room.capacity(), expected << 10);
            room.resize(room.capacity(), b'x');
            input.read = input.bytes.len();
        }
    }

    #[test]
    fn long_commands_share_what_there_is_for_them() {
        let budget = Budget::new(100 << 10);
        let (mut one, mut other) = (Input::new(&budget), Input::new(&budget));
        assert!(feed(&mut one, 60 << 10));
        assert!(feed(&mut other, 60 << 10));
        assert!(!feed(&mut one, 60 << 10), "there is no more");
        drop(other);
        assert!(!feed(&mut one, 60 << 10), "128 KiB are more than there ever is");
        drop(one);
        assert_eq!(budget.taken(), 0);
    }

    #[test]
    fn nothing_grows_beyond_the_longest_command() {
        let budget = Budget::new(usize::MAX);
        let mut input = Input::new(&budget);
        assert!(feed(&mut input, MOST_BYTES));
        assert!(!feed(&mut input, 1));
        assert_eq!(input.bytes.capacity(), MOST_BYTES);
    }
}
