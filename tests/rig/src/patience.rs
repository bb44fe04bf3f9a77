//! Waiting with a ceiling: nothing sleeps and hopes.

use std::time::{Duration, Instant};

const CEILING: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Looks again and again until there is something to see; ends the test that waited in vain.
///
/// # Panics
/// After a minute.
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(CEILING, look).unwrap_or_else(|| panic!("waited in vain for {what}"))
}

/// Looks again and again until there is something to see, or the time is over.
pub fn within<T>(ceiling: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(seen) = look() {
            return Some(seen);
        }
        if start.elapsed() > ceiling {
            return None;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
