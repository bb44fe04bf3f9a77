//! The memory of the table: lines of 64 bytes that are there from the beginning, cost nothing until they are written, and
//! never move.
//!
//! Everything in them is atomic, so that whoever has an old notion of what a line is for reads or locks something harmless.

use super::sync::AtomicU64;

pub(super) const WORDS_PER_LINE: usize = 8;

/// A huge page of most systems. Where it is another, nothing is lost.
pub(super) const HUGE_BYTES: usize = 2 << 20;

/// A cache line.
#[derive(Default)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [AtomicU64; WORDS_PER_LINE]);

impl Line {
    /// Asks for the line, so that it is on its way from memory when it is read.
    #[inline]
    pub(super) fn prefetch(&self) {
        #[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
        #[expect(unsafe_code, reason = "there is no other way to say it")]
        // SAFETY: a hint about an address; it reads and writes nothing.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(self).cast());
        }
    }
}

pub(super) use imp::Arena;

/// Lines that the system gives when they are first written.
#[cfg(all(unix, not(loom), not(miri)))]
mod imp {
    #![expect(unsafe_code, reason = "memory is asked for, and given back, by page")]

    use std::ops::Deref;
    use std::ptr::NonNull;
    use std::sync::Arc;

    use super::{HUGE_BYTES, Line};

    /// Clones are the same lines.
    #[derive(Clone)]
    pub(in super::super) struct Arena {
        /// The first line, at an address where a huge page can begin.
        lines: NonNull<Line>,
        len: usize,
        _mapping: Arc<Mapping>,
    }

    /// Where the mapping begins, a little before the first line, and how long it is.
    struct Mapping {
        start: *mut libc::c_void,
        bytes: usize,
    }

    // SAFETY: only arenas know where it is, and they hand out nothing but shared references to atomics.
    unsafe impl Send for Mapping {}
    // SAFETY: as above.
    unsafe impl Sync for Mapping {}
    // SAFETY: as above.
    unsafe impl Send for Arena {}
    // SAFETY: as above.
    unsafe impl Sync for Arena {}

    impl Arena {
        /// So many lines, all zero; fewer if the system does not have as many addresses.
        pub(in super::super) fn new(len: usize) -> Self {
            let mut len = len;
            loop {
                if let Some(arena) = Self::map(len) {
                    return arena;
                }
                assert!(len > 64, "the system has no memory to give");
                len /= 2;
            }
        }

        fn map(len: usize) -> Option<Self> {
            let bytes = len.checked_mul(size_of::<Line>())?.checked_add(HUGE_BYTES)?;
            // SAFETY: an anonymous mapping at an address of the system's choice touches no memory that is in use.
            let start = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    bytes,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            if start == libc::MAP_FAILED {
                return None;
            }
            let mapping = Arc::new(Mapping { start, bytes });
            let lines = start.map_addr(|address| address.next_multiple_of(HUGE_BYTES));
            Some(Self { lines: NonNull::new(lines.cast())?, len, _mapping: mapping })
        }

        /// Has the system give memory for lines before anybody needs it, in huge pages where it can. Whoever writes the first
        /// line of a huge page waits until all of it was cleared; so this is not for whoever has to answer.
        pub(in super::super) fn warm(&self, lines: std::ops::Range<usize>) {
            #[cfg(target_os = "linux")]
            if let Some(lines) = self.get(lines) {
                let at = lines.as_ptr().cast_mut().cast();
                // SAFETY: the range lies within the mapping; neither changes what is read from it.
                unsafe {
                    libc::madvise(at, size_of_val(lines), libc::MADV_HUGEPAGE);
                    libc::madvise(at, size_of_val(lines), libc::MADV_POPULATE_WRITE);
                }
            }
        }

        /// Gives the memory of lines back to the system. Whether it took it, so that they read as zero now: a system with
        /// larger pages does not take parts of one.
        pub(in super::super) fn give_back(&self, lines: std::ops::Range<usize>) -> bool {
            let lines = &self[lines];
            // SAFETY: the range is within the mapping, which is private and anonymous, so that its pages read as zeros
            // afterwards: as if somebody had stored 0 to each of these atomics.
            unsafe {
                let at = lines.as_ptr().cast_mut().cast();
                libc::madvise(at, size_of_val(lines), libc::MADV_DONTNEED) == 0
            }
        }
    }

    impl Deref for Arena {
        type Target = [Line];

        #[inline]
        fn deref(&self) -> &[Line] {
            // SAFETY: the mapping has that many lines, starts at a page and so is aligned, lives as long as this does, and is
            // zero, which is a line of zeros, until somebody stores to its atomics.
            unsafe { std::slice::from_raw_parts(self.lines.as_ptr(), self.len) }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: the mapping is this one's, and the last arena is gone, so that nobody borrows from it any more.
            unsafe { libc::munmap(self.start, self.bytes) };
        }
    }
}

/// Lines on the heap, where there is no other way, and for checkers.
#[cfg(not(all(unix, not(loom), not(miri))))]
mod imp {
    use std::ops::Deref;
    use std::sync::Arc;

    use super::Line;

    /// Clones are the same lines.
    #[derive(Clone)]
    pub(in super::super) struct Arena(Arc<[Line]>);

    impl Arena {
        pub(in super::super) fn new(len: usize) -> Self {
            Self((0..len).map(|_| Line::default()).collect())
        }

        pub(in super::super) fn warm(&self, _lines: std::ops::Range<usize>) {}

        pub(in super::super) fn give_back(&self, _lines: std::ops::Range<usize>) -> bool {
            false
        }
    }

    impl Deref for Arena {
        type Target = [Line];

        fn deref(&self) -> &[Line] {
            &self.0
        }
    }
}
