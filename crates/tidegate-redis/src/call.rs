//! One call of a script: what the store asks of the client, and what can come of it.

use std::future::Future;
use std::time::Duration;

use smallvec::SmallVec;
use tidegate_core::{Class, Plan};

/// Brings calls to the servers that have their keys.
pub trait Caller: Send + Sync {
    /// Runs the script once, or says why it could not. Never waits longer than its deadline, and never runs a call a second
    /// time that may have run before.
    fn call(&self, call: Call) -> impl Future<Output = Result<redis::Value, CallError>> + Send;

    /// Whether keys with these two tags can be named in one call.
    fn are_neighbours(&self, one: &[u8], other: &[u8]) -> bool;
}

/// One call of a script. All keys carry the same hash tag, or tags that are [neighbours](Caller::are_neighbours).
#[derive(Clone)]
pub struct Call {
    /// What to run.
    pub script: &'static Script,
    /// The declared keys. The first decides which server is asked.
    pub keys: SmallVec<[Vec<u8>; 2]>,
    /// What the script is told: one argument per check, so that calls can be joined.
    pub arguments: SmallVec<[Vec<u8>; 1]>,
    /// How long an answer is waited for, if that is less than the client's own patience.
    pub deadline: Option<Duration>,
    /// Who gives way first when too many calls are under way.
    pub priority: Priority,
}

impl Call {
    /// A call with the client's own deadline, of those that give way first.
    pub fn new(
        script: &'static Script,
        keys: SmallVec<[Vec<u8>; 2]>,
        arguments: SmallVec<[Vec<u8>; 1]>,
    ) -> Self {
        Self { script, keys, arguments, deadline: None, priority: Priority::default() }
    }

    /// The same with the patience and by the class of a plan.
    #[must_use]
    pub fn for_plan(mut self, plan: &Plan) -> Self {
        self.deadline = plan.patience();
        self.priority = Priority::of(plan);
        self
    }
}

/// What calls that travel as one tell their script: where they can be joined, an argument that says the same as the one before it
/// is left empty.
pub fn told<'c>(calls: impl Iterator<Item = &'c Call> + Clone) -> impl Iterator<Item = &'c [u8]> + Clone {
    let arguments =
        calls.flat_map(|call| call.arguments.iter().map(move |argument| (call, argument.as_slice())));
    let mut before: Option<&[u8]> = None;
    arguments.map(move |(call, argument)| {
        let repeats = call.script.joins && before.replace(argument) == Some(argument);
        if repeats { &[] } else { argument }
    })
}

impl Priority {
    /// By the class of a plan.
    pub fn of(plan: &Plan) -> Self {
        match plan.class() {
            Class::Security => Self::Security,
            Class::Strict => Self::Strict,
            Class::Cost => Self::Cost,
            Class::Comfort => Self::Comfort,
        }
    }
}

/// Who is kept when too many calls are under way: earlier ones longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Kept until nothing fits any more.
    Security,
    /// Kept until seven eighths of the room are taken.
    Strict,
    /// Kept until three quarters are taken.
    Cost,
    /// Gives way when half of the room is taken.
    #[default]
    Comfort,
}

/// A script as it stands in the source, and its name in the server's cache.
pub struct Script {
    /// The text.
    pub text: &'static str,
    /// The SHA-1 of the text, in hexadecimal digits.
    pub sha: &'static str,
    /// Whether calls of it can be joined: one argument per key, one after another, each empty if it is as the one before it, and
    /// an array of as many replies, with what concerns all of them behind. Then each call is answered by an array of its own replies and that; a call
    /// that ran alone by whatever the script says to it.
    pub joins: bool,
}

/// Why a call has no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("redis shard {shard}: {fault}")]
pub struct CallError {
    /// The server that was asked, as metrics name it.
    pub shard: String,
    /// What went wrong.
    pub fault: Fault,
    /// Whether the script may have run all the same.
    pub may_have_run: bool,
}

/// What went wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// No answer in time.
    #[error("no answer in time")]
    TimedOut,
    /// No connection, or it broke.
    #[error("no connection")]
    Disconnected,
    /// It is not tried, because it failed too often just now.
    #[error("it failed too often and rests")]
    Resting,
    /// More calls are under way than may be.
    #[error("too many calls are under way")]
    Crowded,
    /// The server refuses for now: loading, busy, out of memory, read-only, a slot on its way, a cluster without all its parts.
    #[error("the server answers {0}")]
    Refused(&'static str),
    /// The answer is not what the script gives.
    #[error("an answer that cannot be understood")]
    Garbled,
    /// A value was written in a format that this node does not know.
    #[error("a value of a format that this node does not know")]
    NewerFormat,
    /// Another delivery under the same name is not decided yet.
    #[error("another delivery is under way")]
    InProgress,
}

impl Fault {
    /// Its name, in metrics and in errors of the store: a few words of ours, or the server's own.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::TimedOut => "timeout",
            Self::Disconnected => "disconnected",
            Self::Resting => "resting",
            Self::Crowded => "crowded",
            Self::Refused(kind) => kind,
            Self::Garbled => "garbled",
            Self::NewerFormat => "newer_format",
            Self::InProgress => "in_progress",
        }
    }
}
