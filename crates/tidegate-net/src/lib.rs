//! Listeners and connections, without rules and without an engine.
//!
//! [`serve`] accepts connections up to a bound, makes the TLS handshake, and hands each connection to
//! one core. A [`ConnectionHandler`] speaks the protocol: [`http::HttpListener`] for HTTP/1.1 and
//! HTTP/2 over any [`http::HttpApp`], or one of its own built from the parts in [`mod@line`].
//!
//! | module | holds |
//! |---|---|
//! | [`cores`] | one runtime per core, and the slot of a connection on one of them |
//! | [`tls`], [`secret`] | certificates and secrets from files, read again when they change |
//! | [`http`] | the HTTP server: turns, deadlines, and what a peer may leave unread |
//! | [`mod@line`] | waiting and deadlines for protocols of commands and replies |
//! | [`budget`], [`body`] | a bound on the bytes of long bodies, heads and answers |
//! | [`deadline`] | a future within its time, and contained panics |

mod error;
mod limits;
mod peer;
mod phase;
mod counts;
mod stream;
mod listener;
pub mod cores;
pub mod tls;
pub mod secret;
pub mod deadline;
pub mod budget;
pub mod body;
pub mod http;
pub mod line;

pub use counts::{ConnectionCounts, OpenConnection};
pub use error::Error;
pub use limits::{CLOSE_GRACE, ConnectionLimits};
pub use listener::{ConnectionHandler, ListenerConfig, bind, serve};
pub use peer::{Certificate, Peer};
pub use phase::{Phase, reached};
pub use stream::{ByteStream, send_within};
