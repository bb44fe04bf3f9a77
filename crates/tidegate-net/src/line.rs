//! Parts of a connection that speaks a protocol of commands and replies, such as the Redis protocol.

mod idle_wait;
mod wake_flag;
mod deadlines;

pub use deadlines::{ConnectionDeadlines, Progress};
pub use idle_wait::{IdleEvent, IdleWait};
