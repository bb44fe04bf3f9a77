//! Filling pages that are not anybody's yet.

use super::arena::Line;
use super::page::{LINES_PER_PAGE, Width, within};
use super::slot::{Content, Hash};

/// Pages of which nobody knows yet, to be filled.
pub(super) struct Blank<'a> {
    pub(super) pages: &'a [u32],
    pub(super) lines: &'a [Line],
    pub(super) width: Width,
}

impl<'a> Blank<'a> {
    /// Puts all of these into it; `false` if it has no room for them. First all that find room in their first line, then in
    /// the second, and the rest in the stash: so most of them are found at the first look.
    pub(super) fn fill(&self, mut contents: Vec<Content>) -> bool {
        for choice in 0..2 {
            contents.retain(|content| !self.width.put(self.candidates(content.hash())[choice], *content));
        }
        contents.into_iter().all(|content| {
            let [.., stash, other] = self.candidates(content.hash());
            let has_more = self.width.free(stash) >= self.width.free(other);
            let [first, second] = if has_more { [stash, other] } else { [other, stash] };
            self.width.put(first, content) || self.width.put(second, content) || self.displace(content)
        })
    }

    /// Gives a counter the place of one that finds another in its other line.
    fn displace(&self, content: Content) -> bool {
        let [first, second, ..] = self.candidates(content.hash());
        let mut rivals = [first, second].into_iter().flat_map(|line| self.width.slots(line));
        rivals.by_ref().filter(|slot| slot.try_lock()).any(|slot| {
            let moved = slot.held().is_some_and(|held| {
                let [one, other, ..] = self.candidates(held.hash());
                self.width.put(one, held) || self.width.put(other, held)
            });
            if moved {
                slot.unlock_with(content);
            } else {
                slot.unlock();
            }
            moved
        })
    }

    fn candidates(&self, hash: Hash) -> [&'a Line; 4] {
        let line = |bits: u32| {
            let (page, line, stash) = within(bits, self.pages.len());
            let first = self.pages[page] as usize * LINES_PER_PAGE;
            (&self.lines[first + line], &self.lines[first + stash])
        };
        let ((first, stash), (second, other_stash)) = (line(hash.first()), line(hash.second()));
        [first, second, stash, other_stash]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use tidegate_core::Packed;

    use super::*;
    use crate::memory::segment::MAX_PAGES;

    fn counters(seed: u64, count: usize) -> Vec<Content> {
        let hasher = siphasher::sip::SipHasher13::new_with_keys(seed, 4);
        let hash = |index: usize| Hash::new(hasher.hash(&index.to_le_bytes()));
        (0..count).map(|index| Content::new(hash(index), 1, Packed::default())).collect()
    }

    #[test]
    fn pages_are_filled_to_seven_tenths_with_most_counters_in_their_first_line() {
        for pages in 1..=MAX_PAGES {
            for seed in 0..20 {
                let lines: Vec<Line> = (0..pages * LINES_PER_PAGE).map(|_| Line::default()).collect();
                let numbers: Vec<u32> = (0..u32::try_from(pages).unwrap()).rev().collect();
                let blank = Blank { pages: &numbers, lines: &lines, width: Width::Narrow };
                let contents = counters(seed, pages * Width::Narrow.slots_per_page() * 7 / 10);
                assert!(blank.fill(contents.clone()), "{pages} pages, seed {seed}");
                let stands_in = |content: &Content, choice: usize| {
                    blank.width.find_in(blank.candidates(content.hash())[choice], content.hash()).is_some()
                };
                let first = contents.iter().filter(|content| stands_in(content, 0)).count();
                assert!(first * 100 > contents.len() * 80, "{first} of {}", contents.len());
                assert!(contents.iter().all(|content| (0..4).any(|choice| stands_in(content, choice))));
            }
        }
    }
}
