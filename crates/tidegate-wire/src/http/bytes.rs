//! The bytes of a body as they come, bounded for each body and, by the door's budget, for all that are held at once.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Bytes, HttpBody};

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

/// The whole body, and the share that it takes for as long as that is kept. Nearly all come in one piece, which is not copied.
pub(super) async fn collect<B>(
    mut body: B,
    most: usize,
    budget: &Budget,
) -> Result<(Bytes, Share<'_>), Stopped>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let (mut first, mut bytes, mut share) = (Bytes::new(), Vec::new(), budget.share());
    while !body.is_end_stream() {
        let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await else { break };
        // What is no data are trailers, which nobody reads.
        let Ok(data) = frame.map_err(|_| Stopped::BrokenOff)?.into_data() else { continue };
        if first.is_empty() && bytes.is_empty() {
            take(data.len(), most, &mut share)?;
            first = data;
            continue;
        }
        if bytes.is_empty() {
            make_room(&mut bytes, first.len() + data.len(), most, &mut share)?;
            bytes.extend_from_slice(&first);
        }
        make_room(&mut bytes, data.len(), most, &mut share)?;
        bytes.extend_from_slice(&data);
    }
    Ok((if bytes.is_empty() { first } else { bytes.into() }, share))
}

/// Pays for a piece.
fn take(more: usize, most: usize, share: &mut Share<'_>) -> Result<(), Stopped> {
    if more > most {
        Err(Stopped::TooLarge)
    } else if share.grow(more) {
        Ok(())
    } else {
        Err(Stopped::NoRoom)
    }
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
