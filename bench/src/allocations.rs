//! A global allocator that counts. One increment of a thread's own cell per allocation: too little to see in a timing.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

use mimalloc::MiMalloc;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// How many allocations and reallocations this thread has made.
pub(crate) fn count() -> u64 {
    COUNT.get()
}

pub(crate) struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn add_one() {
    COUNT.set(COUNT.get() + 1);
}

// SAFETY: every call goes to another allocator with its arguments unchanged. The count is a thread-local of a constant
// initial value without a destructor, so that counting neither allocates nor fails while a thread ends.
#[expect(unsafe_code, reason = "a global allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add_one();
        // SAFETY: as promised by our caller.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as promised by our caller.
        unsafe { MiMalloc.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add_one();
        // SAFETY: as promised by our caller.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        add_one();
        // SAFETY: as promised by our caller.
        unsafe { MiMalloc.realloc(at, layout, new_size) }
    }
}
