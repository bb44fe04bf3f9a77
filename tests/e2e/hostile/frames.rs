//! HTTP/2 in bytes, so that it can be broken.

/// What every connection begins with.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Kinds of frames.
#[derive(Clone, Copy)]
pub(super) enum Frame {
    Data = 0,
    Headers = 1,
    Reset = 3,
    Settings = 4,
    GoAway = 7,
    Continuation = 9,
}

/// Why a stream is reset that there is no room for.
pub(super) const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];
/// Why a connection ends whose peer sends a frame that is too long.
pub(super) const FRAME_SIZE_ERROR: [u8; 4] = [0, 0, 0, 6];
/// Why a connection ends whose peer does too much.
pub(super) const ENHANCE_YOUR_CALM: [u8; 4] = [0, 0, 0, 11];

/// A frame.
pub(super) fn frame(kind: Frame, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind as u8, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// The head of a call of Envoy's service; its message is to follow.
pub(super) fn call(stream: u32) -> Vec<u8> {
    // POST and http by their places in the static table, the rest in words.
    let mut block = vec![0x83, 0x86];
    for (index, value) in [
        (0x04, "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"),
        (0x01, "localhost"),
        (0x0f, "application/grpc"),
    ] {
        block.push(index);
        if index == 0x0f {
            // `content-type` is number 31: its prefix of four bits runs over.
            block.push(31 - 15);
        }
        block.push(u8::try_from(value.len()).unwrap());
        block.extend_from_slice(value.as_bytes());
    }
    block.push(0);
    for word in ["te", "trailers"] {
        block.push(u8::try_from(word.len()).unwrap());
        block.extend_from_slice(word.as_bytes());
    }
    frame(Frame::Headers, 4, stream, &block)
}

/// The kinds of frames that came, and what is in them.
pub(super) fn read_frames(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_at_checked(9)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let (payload, rest) = rest.split_at_checked(length as usize)?;
        bytes = rest;
        Some((head[3], payload))
    })
}
