//! The table of commands: what each is called, how it is written, and what it does.

use tidegate_wire::resp::MAX_WORDS;

/// A command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) which: Which,
    /// Its name, in small letters.
    pub(super) name: &'static str,
    /// How it is written.
    pub(super) usage: &'static str,
    /// How many words it has, its name included: at least and at most.
    pub(super) words: (usize, usize),
    /// Whether its first argument is the name of a counter.
    pub(super) has_key: bool,
    /// Whether strangers may use it where there is a password.
    pub(super) is_open: bool,
    pub(super) summary: &'static str,
}

/// Which command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    ClThrottle,
    Throttle,
    Check,
    Reserve,
    Commit,
    Cancel,
    Refund,
    Release,
    Explain,
    Ping,
    Echo,
    Hello,
    Auth,
    Client,
    Command,
    Info,
    Select,
    Reset,
    Quit,
}

const fn entry(
    which: Which,
    name: &'static str,
    (least, most): (usize, usize),
    usage: &'static str,
    summary: &'static str,
) -> Entry {
    let has_key = matches!(which, Which::ClThrottle | Which::Throttle);
    let is_open = matches!(which, Which::Auth | Which::Hello | Which::Quit | Which::Reset);
    Entry { which, name, usage, words: (least, most), has_key, is_open, summary }
}

/// All commands, the busiest first.
pub(super) static COMMANDS: &[Entry] = &[
    entry(
        Which::ClThrottle,
        "cl.throttle",
        (5, 6),
        "CL.THROTTLE key max_burst count period [quantity]",
        "May so much pass? As redis-cell answers it",
    ),
    entry(
        Which::Throttle,
        "throttle",
        (5, 6),
        "THROTTLE key max_burst count period [quantity]",
        "May so much pass? As throttlecrab answers it",
    ),
    entry(
        Which::Check,
        "tg.check",
        (2, MAX_WORDS),
        "TG.CHECK domain [attribute value ...] [COST n]",
        "May a request pass, by the rules of a domain?",
    ),
    entry(
        Which::Reserve,
        "tg.reserve",
        (2, MAX_WORDS),
        "TG.RESERVE domain [attribute value ...] [COST n]",
        "May a request pass, at a cost that is settled within a minute?",
    ),
    entry(
        Which::Commit,
        "tg.commit",
        (4, MAX_WORDS),
        "TG.COMMIT id attribute value [attribute value ...] | TG.COMMIT id COST n",
        "Settles a reservation at what was really used",
    ),
    entry(Which::Cancel, "tg.cancel", (2, 2), "TG.CANCEL id", "Settles a reservation at nothing"),
    entry(
        Which::Refund,
        "tg.refund",
        (2, MAX_WORDS),
        "TG.REFUND domain [attribute value ...] [COST n]",
        "Gives back what such a check was charged",
    ),
    entry(Which::Release, "tg.release", (2, 2), "TG.RELEASE id", "Gives back the slots that a check holds"),
    entry(
        Which::Explain,
        "tg.explain",
        (2, MAX_WORDS),
        "TG.EXPLAIN domain [attribute value ...] [COST n]",
        "Which rules a request meets, and why not the others",
    ),
    entry(Which::Ping, "ping", (1, 2), "PING [message]", "Answers PONG, or the message"),
    entry(Which::Echo, "echo", (2, 2), "ECHO message", "Answers the message"),
    entry(
        Which::Hello,
        "hello",
        (1, 7),
        "HELLO [2|3 [AUTH default password] [SETNAME name]]",
        "Chooses the protocol of replies",
    ),
    entry(Which::Auth, "auth", (2, 3), "AUTH [default] password", "Says who asks"),
    entry(
        Which::Client,
        "client",
        (2, 4),
        "CLIENT ID|GETNAME|SETNAME name|SETINFO attribute value",
        "About this connection",
    ),
    entry(
        Which::Command,
        "command",
        (1, MAX_WORDS),
        "COMMAND [COUNT|LIST|INFO name ...|DOCS [name ...]]",
        "About commands",
    ),
    entry(Which::Info, "info", (1, MAX_WORDS), "INFO", "About this server"),
    entry(Which::Select, "select", (2, 2), "SELECT 0", "Chooses the one database that there is"),
    entry(Which::Reset, "reset", (1, 1), "RESET", "Begins the connection anew"),
    entry(Which::Quit, "quit", (1, MAX_WORDS), "QUIT", "Ends the connection"),
];

/// The command of that name, in whatever letters it is written.
pub(super) fn find(name: &[u8]) -> Option<&'static Entry> {
    COMMANDS.iter().find(|entry| entry.name.as_bytes().eq_ignore_ascii_case(name))
}

impl Entry {
    /// How many words it has, as Redis tells it: exactly so many, or at least so many if negative.
    pub(super) fn arity(&self) -> i64 {
        let (least, most) = self.words;
        let words = i64::try_from(least).unwrap_or(i64::MAX);
        if least == most { words } else { -words }
    }
}
