//! Where rules come from while the server runs: files ([`files`]), which of their texts are in force ([`reload`]), what is
//! set over them ([`switches`]), what is told about it ([`status`]), and the task that keeps up with changes ([`watch`]).

pub(crate) mod files;
pub(crate) mod reload;
pub(crate) mod switches;
pub(crate) mod status;
mod content;
mod unread;
mod loader;
mod watch;

pub use files::{Reading, read as read_files};
pub(crate) use loader::{Loader, Loading};
pub(crate) use watch::{Order, SwitchOrder, Trigger, Watch};
