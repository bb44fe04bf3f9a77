//! Ports that nobody uses. They lie below those that the system gives to outgoing connections, so that a server that is down for
//! a while finds its own port free when it comes back.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u32 = 12_000;
const COUNT: u32 = 20_000;

static TAKEN: AtomicU32 = AtomicU32::new(0);

/// A port that was free just now, and that this process has not named before (unless it has named them all).
pub(crate) fn free() -> u16 {
    // Processes that run side by side start at different places; whoever clashes all the same tries again.
    let start = std::process::id().wrapping_mul(7919);
    (0..COUNT)
        .map(|_| FIRST + start.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed)) % COUNT)
        .filter_map(|port| u16::try_from(port).ok())
        .find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
        .expect("some port of twenty thousand is free")
}
