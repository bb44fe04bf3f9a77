//! The keys of a plan, one behind the other.
//!
//! A `SmallVec` of as many bytes takes 15 % more instructions for a plan of one or four charges, made and decided
//! (`examples/instructions.rs` of the store, cases `made` and `made-four`).

use super::short::SHORT_BYTES;

/// How many bytes need no memory of their own.
const IN_PLACE: usize = 256;

/// Bytes that grow at their end: in place while they are few.
#[derive(Clone)]
pub(super) struct Keys {
    in_place: [u8; IN_PLACE],
    /// How many of those are used; none once they have moved.
    used: usize,
    moved: Vec<u8>,
}

impl Default for Keys {
    #[inline]
    fn default() -> Self {
        Self { in_place: [0; IN_PLACE], used: 0, moved: Vec::new() }
    }
}

impl Keys {
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        if self.moved.is_empty() { &self.in_place[..self.used.min(IN_PLACE)] } else { &self.moved }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        if self.moved.is_empty() { self.used } else { self.moved.len() }
    }

    /// Room for so many more bytes, to be written at once: what it holds is of no meaning.
    #[inline]
    pub(super) fn grow(&mut self, more: usize) -> &mut [u8] {
        let end = self.used + more;
        if end > IN_PLACE || !self.moved.is_empty() {
            return self.grow_moved(more);
        }
        let start = std::mem::replace(&mut self.used, end);
        &mut self.in_place[start..end]
    }

    /// Room for a short key and where it begins, if there is so much in place. What it holds is of no meaning until it is
    /// [taken](Self::take).
    #[inline]
    pub(super) fn room(&mut self) -> Option<(usize, &mut [u8; SHORT_BYTES])> {
        let start = self.used;
        if start > IN_PLACE - SHORT_BYTES || !self.moved.is_empty() {
            return None;
        }
        Some((start, self.in_place[start..].first_chunk_mut()?))
    }

    /// Writes a part whose length is one byte at that place of the room, without taking it; where it ends, if there is so
    /// much room.
    #[inline(never)]
    pub(super) fn write_short(&mut self, at: usize, part: &[u8]) -> Option<usize> {
        let length = u8::try_from(part.len()).ok().filter(|length| *length < 0x80)?;
        let end = at + 1 + part.len();
        let (first, rest) = self.in_place.get_mut(at..end)?.split_first_mut()?;
        *first = length;
        rest.copy_from_slice(part);
        Some(end)
    }

    /// Takes what was written up to that end.
    #[inline]
    pub(super) fn take(&mut self, end: usize) {
        self.used = end;
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if self.moved.is_empty() {
            self.used = self.used.min(len);
        } else if len == 0 {
            self.clear();
        } else {
            self.moved.truncate(len);
        }
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.moved.clear();
    }

    #[cold]
    fn grow_moved(&mut self, more: usize) -> &mut [u8] {
        if self.moved.is_empty() {
            self.moved.extend_from_slice(&self.in_place[..self.used]);
            self.used = 0;
        }
        let start = self.moved.len();
        self.moved.resize(start + more, 0);
        &mut self.moved[start..]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_as_a_vector_is(steps in prop::collection::vec((any::<bool>(), 0..200_usize), 0..20)) {
            let (mut keys, mut vector) = (Keys::default(), Vec::new());
            for (number, (grows, count)) in (1_u8..).zip(steps) {
                if grows {
                    keys.grow(count).fill(number);
                    vector.resize(vector.len() + count, number);
                } else {
                    let len = vector.len().saturating_sub(count);
                    keys.truncate(len);
                    vector.truncate(len);
                }
                prop_assert_eq!(keys.bytes(), &*vector);
                prop_assert_eq!(keys.len(), vector.len());
            }
        }
    }
}
