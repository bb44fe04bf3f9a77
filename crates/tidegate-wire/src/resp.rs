//! The Redis protocol: commands decoded from bytes, replies appended to bytes. Neither knows sockets or time; both are
//! bounded.

mod decode;
mod reply;
mod words;

pub use decode::{Decoder, MAX_COMMAND_BYTES, MAX_WORD_BYTES, MAX_WORDS, ProtocolError, Words};
pub use reply::{Protocol, Replies};
pub use words::{Shown, number};
