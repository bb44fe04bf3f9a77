//! Counters of long windows in a file, so that they survive a restart: read at the start, written every now and then and
//! at the end. Whatever goes wrong here is said, and the server goes on without.

mod place;
mod file;
mod status;
mod keeper;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use tidegate_core::Timestamp;
use tidegate_store::Memory;
use tidegate_store::memory::checkpoint::{CheckpointError, Restored};

use crate::config::Config;
use file::{Found, Home};

pub(crate) use keeper::Keeper;
pub(crate) use status::{Kept, Status};

/// What to do if there is no file.
const ADVICE: &str =
    "name a file in a folder that can be written with --checkpoint, or turn this off with --checkpoint off";

/// Where a store is to be kept, and what was kept there.
pub(crate) struct Opened {
    pub(crate) home: Home,
    pub(crate) restored: Option<Restored>,
}

/// A store with what was kept of an earlier one, and where to keep it from now on, if it is to be kept and can be.
pub(crate) fn open(config: &Config, now: Timestamp) -> (Memory, Option<Opened>) {
    let cap_bytes = config.limits.memory_bytes;
    let Some(path) = place::path(&config.checkpoint.place, |name| std::env::var_os(name)) else {
        return (Memory::with_cap(cap_bytes), None);
    };
    let opened = path.and_then(|path| open_at(&path, cap_bytes, now));
    opened.map_or_else(
        |reason| {
            tracing::warn!(%reason, advice = ADVICE, "counters of long windows will not survive a restart");
            (Memory::with_cap(cap_bytes), None)
        },
        |(memory, opened)| (memory, Some(opened)),
    )
}

fn open_at(path: &Path, cap_bytes: usize, now: Timestamp) -> io::Result<(Memory, Opened)> {
    let home = Home::claim(path)?;
    let (memory, restored) = match home.read(cap_bytes, now)? {
        Found::Nothing => {
            tracing::info!(path = %path.display(), "counters of long windows will be kept");
            (Memory::with_cap(cap_bytes), None)
        }
        Found::Counters(memory, restored) => {
            tell(path, &restored, now);
            (*memory, Some(restored))
        }
        Found::Refused(error) => {
            refuse(&home, &error);
            (Memory::with_cap(cap_bytes), None)
        }
    };
    Ok((memory, Opened { home, restored }))
}

fn tell(path: &Path, restored: &Restored, now: Timestamp) {
    let seconds_ago = now.since(restored.saved_at) / 1_000_000;
    let Restored { counters, emptied, dropped, left_out, .. } = *restored;
    tracing::info!(path = %path.display(), counters, seconds_ago, emptied, dropped, left_out, "counters restored");
}

/// Puts a file aside that cannot be used.
fn refuse(home: &Home, error: &CheckpointError) {
    let path = home.path().display();
    match home.put_aside() {
        Ok(aside) => {
            tracing::warn!(%path, reason = %error, kept_as = %aside.display(), "checkpoint refused: counters begin anew");
        }
        Err(why) => tracing::warn!(%path, reason = %error, %why, "checkpoint refused: counters begin anew"),
    }
}
