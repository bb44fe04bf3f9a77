//! How often the machine itself stands still: a thread that does nothing but look at the clock.

use std::time::{Duration, Instant};

/// Shorter ones are interrupts.
const GAP: Duration = Duration::from_micros(100);

/// How long it is looked.
const LOOK: Duration = Duration::from_secs(3);

/// Says so in a sentence.
pub(super) fn report() -> String {
    let start = Instant::now();
    let (mut last, mut longest, mut all) = (start, Duration::ZERO, Duration::ZERO);
    while last - start < LOOK {
        let now = Instant::now();
        let gap = now - last;
        if gap >= GAP {
            (longest, all) = (longest.max(gap), all + gap);
        }
        last = now;
    }
    format!(
        "A thread with a core to itself, which did nothing but look at the clock, stood still for 0.1 ms or longer in {:.1} % of its \
         time, at the longest for {:.1} ms.",
        all.as_secs_f64() / LOOK.as_secs_f64() * 100.0,
        longest.as_secs_f64() * 1e3
    )
}
