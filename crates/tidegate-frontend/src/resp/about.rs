//! What is said about the server and its commands.

use tidegate_engine::Engine;
use tidegate_store::Store;

use super::command::Commands;
use super::table::{COMMANDS, Entry};
use tidegate_wire::resp::Replies;

/// What this server calls itself.
const SERVER: &str = "tidegate";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a connection is greeted with.
pub(super) fn greeting(connection: u64, replies: &mut Replies) {
    replies.map(7);
    for (name, value) in
        [("server", SERVER), ("version", VERSION), ("mode", "standalone"), ("role", "master")]
    {
        replies.bulk(name.as_bytes());
        replies.bulk(value.as_bytes());
    }
    replies.bulk(b"proto");
    replies.integer(replies.protocol.number());
    replies.bulk(b"id");
    replies.count(connection);
    replies.bulk(b"modules");
    replies.array(0);
}

/// A few facts, in the form of Redis.
pub(super) fn info<S: Store>(engine: &Engine<S>, in_flight: usize, replies: &mut Replies) {
    let snapshot = engine.snapshot();
    let (allowed, denied) = engine.observed().throttles();
    replies.text(&format!(
        "# Server\r\ntidegate_version:{VERSION}\r\n\r\n# Rules\r\nrules:{}\r\nsnapshot:{}\r\n\r\n# Stats\r\nin_flight:{in_flight}\r\nthrottles_allowed:{allowed}\r\nthrottles_denied:{denied}\r\n",
        snapshot.rules(),
        snapshot.version(),
    ));
}

/// What is asked about commands.
pub(super) fn commands(what: &Commands, replies: &mut Replies) {
    match what {
        Commands::Count => replies.count(COMMANDS.len() as u64),
        Commands::Names => {
            replies.array(COMMANDS.len());
            for entry in COMMANDS {
                replies.bulk(entry.name.as_bytes());
            }
        }
        Commands::Entries(entries) => {
            replies.array(entries.len());
            for entry in entries {
                match entry {
                    Some(entry) => command(entry, replies),
                    None => replies.null(),
                }
            }
        }
        Commands::Docs(entries) => docs(entries, replies),
    }
}

/// One command as Redis tells it: its name, how many words, what kind, and where its key is.
fn command(entry: &Entry, replies: &mut Replies) {
    replies.array(6);
    replies.bulk(entry.name.as_bytes());
    replies.integer(entry.arity());
    replies.array(1);
    replies.simple("fast");
    let key = i64::from(entry.has_key);
    for place in [key, key, key] {
        replies.integer(place);
    }
}

/// What each is for.
fn docs(entries: &[&Entry], replies: &mut Replies) {
    replies.map(entries.len());
    for entry in entries {
        replies.bulk(entry.name.as_bytes());
        replies.map(2);
        for (name, value) in [("summary", entry.summary), ("group", "generic")] {
            replies.bulk(name.as_bytes());
            replies.bulk(value.as_bytes());
        }
    }
}
