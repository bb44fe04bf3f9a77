//! Calls as servers want them.

use redis::{Cmd, Pipeline};

use crate::{Call, Script, told};

/// One call, or several that are joined: keys and arguments one after another.
pub(crate) trait Body {
    /// What to run.
    fn script(&self) -> &'static Script;
    /// The calls.
    fn calls(&self) -> impl Iterator<Item = &Call> + Clone;
}

impl Body for Call {
    fn script(&self) -> &'static Script {
        self.script
    }

    fn calls(&self) -> impl Iterator<Item = &Call> + Clone {
        std::iter::once(self)
    }
}

/// How the script is named.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// By its name in the server's cache.
    Sha,
    /// By its text, which puts it there.
    Text,
}

/// The command that runs a script.
pub(crate) fn run(body: &impl Body, naming: Naming) -> Cmd {
    let script = body.script();
    let keys = body.calls().flat_map(|call| &call.keys).map(Vec::as_slice);
    let arguments = told(body.calls());
    let (count, bytes) = keys
        .clone()
        .chain(arguments.clone())
        .fold((0, 0), |(count, bytes), part| (count + 1, bytes + part.len()));
    let mut command = match naming {
        Naming::Sha => Cmd::with_capacity(3 + count, 64 + bytes),
        Naming::Text => Cmd::with_capacity(3 + count, 64 + bytes + script.text.len()),
    };
    match naming {
        Naming::Sha => command.arg("EVALSHA").arg(script.sha),
        Naming::Text => command.arg("EVAL").arg(script.text),
    };
    command.arg(keys.clone().count());
    for part in keys.chain(arguments) {
        command.arg(part);
    }
    command
}

/// Commands that travel together and are answered one by one.
pub(crate) fn run_each<'call>(calls: impl Iterator<Item = &'call Call>, naming: Naming) -> Pipeline {
    let mut pipeline = Pipeline::new();
    for call in calls {
        pipeline.add_command(run(call, naming));
    }
    pipeline
}

/// The same for a server that has the key only for now: both words travel together.
pub(crate) fn asking(command: Cmd) -> Pipeline {
    let mut pipeline = Pipeline::with_capacity(2);
    pipeline.cmd("ASKING").add_command(command);
    pipeline
}
