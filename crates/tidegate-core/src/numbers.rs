//! The numbers of a limit, for stores that do its arithmetic elsewhere.

use crate::algorithm::fixed_window::Window;
use crate::limit::{Kind, Limit};
use crate::rate::Rate;

/// The numbers behind a limit, by the arithmetic that they are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// A level that drains.
    Meter {
        /// How much it holds.
        capacity: u64,
        /// How fast it drains.
        rate: Rate,
        /// Whether it delays what it admits.
        shapes: bool,
    },
    /// A count that starts anew with each window.
    FixedWindow {
        /// How much a window holds.
        amount: u64,
        /// Where windows begin.
        window: Window,
    },
    /// Counts per part of a window.
    SlidingWindow {
        /// How much a window holds.
        amount: u64,
        /// The length of a part.
        part_us: u64,
        /// How many parts a window has.
        parts: u8,
    },
    /// Time stamps.
    SlidingLog {
        /// How much a window holds.
        amount: u64,
        /// The window's length.
        window_us: u64,
        /// How many admissions share a stamp.
        share: u64,
    },
    /// Slots.
    Concurrency {
        /// How many there are.
        slots: u64,
        /// How long each lasts.
        term_us: u64,
    },
}

impl Limit {
    /// Its numbers.
    pub fn numbers(&self) -> Numbers {
        match &self.kind {
            Kind::Meter(meter) => {
                Numbers::Meter { capacity: meter.capacity(), rate: meter.rate(), shapes: meter.is_shaping() }
            }
            Kind::FixedWindow(window) => {
                Numbers::FixedWindow { amount: window.amount(), window: window.window() }
            }
            Kind::SlidingWindow(window) => Numbers::SlidingWindow {
                amount: window.amount(),
                part_us: window.window_us() / u64::from(window.parts()),
                parts: window.parts(),
            },
            Kind::SlidingLog(log) => {
                Numbers::SlidingLog { amount: log.amount(), window_us: log.window_us(), share: log.share() }
            }
            Kind::Concurrency(slots) => {
                Numbers::Concurrency { slots: slots.slots(), term_us: slots.term_us() }
            }
        }
    }
}
