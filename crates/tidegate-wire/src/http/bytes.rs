//! The bytes of a body as they come, bounded for each body and, by the door's budget, for all that are held at once.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody as _};

use crate::door::{Budget, Share};

/// Why a body was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// It is larger than a body may be.
    TooLarge,
    /// Others take too much room.
    NoRoom,
    /// The connection did not bring the rest.
    BrokenOff,
}

/// The whole body, and the share that it takes for as long as that is kept.
pub(super) async fn collect(
    mut body: Body,
    most: usize,
    budget: &Budget,
) -> Result<(Vec<u8>, Share<'_>), Stopped> {
    let (mut bytes, mut share) = (Vec::new(), budget.share());
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        // What is no data are trailers, which nobody reads.
        if let Ok(data) = frame.map_err(|_| Stopped::BrokenOff)?.into_data() {
            make_room(&mut bytes, data.len(), most, &mut share)?;
            bytes.extend_from_slice(&data);
        }
    }
    Ok((bytes, share))
}

/// Grows by doubling, as vectors do; what it grows by is paid for first.
fn make_room(bytes: &mut Vec<u8>, more: usize, most: usize, share: &mut Share<'_>) -> Result<(), Stopped> {
    let (needed, had) = (bytes.len() + more, bytes.capacity());
    if needed > most {
        return Err(Stopped::TooLarge);
    }
    if needed <= had {
        return Ok(());
    }
    let capacity = needed.max(had.saturating_mul(2)).min(most);
    if !share.grow(capacity.saturating_sub(had)) {
        return Err(Stopped::NoRoom);
    }
    bytes.reserve_exact(capacity - bytes.len());
    Ok(())
}
