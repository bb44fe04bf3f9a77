//! What a server's answer means: the script's reply, or what to do instead.

use redis::{ErrorKind, RedisError, ServerError, Value};

use super::trouble::Trouble;
use crate::Fault;

/// An answer as meant. Whatever is not a [reply](Reply::Answer) or [`Reply::Refused`] was not run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    /// What the script gave.
    Answer(Value),
    /// The server does not have the script.
    NoScript,
    /// Another server has the slot, for good.
    Moved(String),
    /// Another server has the key, for now.
    Ask(String),
    /// Keys of the call are on two servers just now.
    TryAgain,
    /// The server is a replica.
    ReadOnly,
    /// The server does not want to.
    Refused(Refusal),
}

/// That a server does not want to, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Its word for it.
    pub(crate) kind: &'static str,
    /// Whether part of the script may have run.
    pub(crate) may_have_run: bool,
    /// Whether other calls will fare as this one.
    pub(crate) ails: bool,
}

/// Words of servers: whether the script may have run before it, and whether the server as a whole ails.
const WORDS: [(&str, bool, bool); 15] = [
    ("LOADING", false, true),
    ("BUSY", false, true),
    // Looked at once, before the first write; and what only reads still works.
    ("OOM", false, false),
    ("CLUSTERDOWN", false, true),
    ("MASTERDOWN", false, true),
    ("MISCONF", false, true),
    ("NOREPLICAS", false, true),
    ("NOAUTH", false, true),
    ("WRONGPASS", false, true),
    ("NOPERM", true, true),
    ("CROSSSLOT", false, false),
    ("READONLY", false, true),
    ("UNKILLABLE", false, true),
    ("WRONGTYPE", true, false),
    ("ERR", true, false),
];

/// The word for a server that has too many connections; its own text has none.
const MAX_CLIENTS: Refusal = Refusal { kind: "MAXCLIENTS", may_have_run: false, ails: true };

impl Reply {
    /// What a server's answer means.
    pub(crate) fn read(value: Value) -> Self {
        match value {
            Value::ServerError(error) => Self::of_error(&error),
            value => Self::Answer(value),
        }
    }

    fn of_error(error: &ServerError) -> Self {
        let details = error.details().unwrap_or_default();
        let target = || details.split(' ').nth(1).unwrap_or_default().to_owned();
        match error.code() {
            "NOSCRIPT" => Self::NoScript,
            "MOVED" => Self::Moved(target()),
            "ASK" => Self::Ask(target()),
            "TRYAGAIN" => Self::TryAgain,
            code => match refusal(code, details) {
                Refusal { kind: "READONLY", .. } => Self::ReadOnly,
                refusal => Self::Refused(refusal),
            },
        }
    }
}

fn refusal(code: &str, details: &str) -> Refusal {
    if details.contains("max number of clients") {
        return MAX_CLIENTS;
    }
    if details.contains("without any password configured") {
        return refusal("WRONGPASS", "");
    }
    // Servers before Redis 7 put the word of a command that failed in a script behind a text of their own.
    let inner = WORDS.iter().find(|(word, ..)| code == "ERR" && details.contains(&format!("-{word} ")));
    let (kind, may_have_run, ails) =
        *inner.or_else(|| WORDS.iter().find(|(word, ..)| *word == code)).unwrap_or(&WORDS[WORDS.len() - 1]);
    Refusal { kind, may_have_run, ails }
}

/// What an error of the connection means to a call that was given to it.
pub(crate) fn trouble_of(error: &RedisError) -> Trouble {
    match error.kind() {
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => Trouble::after_sending(Fault::Garbled),
        _ => Trouble::after_sending(Fault::Disconnected),
    }
}

#[cfg(test)]
mod tests {
    use super::refusal;

    fn kind(code: &str, details: &str) -> (&'static str, bool) {
        let refusal = refusal(code, details);
        (refusal.kind, refusal.may_have_run)
    }

    #[test]
    fn the_first_word_tells() {
        assert_eq!(kind("LOADING", "Redis is loading the dataset in memory"), ("LOADING", false));
        assert_eq!(kind("OOM", "command not allowed. script: 1f, on @user_script:7."), ("OOM", false));
        assert_eq!(kind("WRONGTYPE", "Operation against a key"), ("WRONGTYPE", true));
    }

    #[test]
    fn what_nobody_knows_may_have_run() {
        assert_eq!(kind("NEWWORD", "of another version"), ("ERR", true));
    }

    #[test]
    fn the_word_within_a_script_is_found_as_older_servers_say_it() {
        let text =
            "Error running script (call to f_1f): @user_script:1: @user_script: 1: -OOM command not allowed";
        assert_eq!(kind("ERR", text), ("OOM", false));
    }

    #[test]
    fn too_many_connections_have_a_word() {
        assert_eq!(kind("ERR", "max number of clients reached"), ("MAXCLIENTS", false));
    }
}
