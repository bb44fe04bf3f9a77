//! Commands as meant: words are read once, and what is wrong with them is said then.

use tidegate_core::Ticket;

use super::question::{self, Question};
use super::table::{self, Entry, Which};
use super::throttle::{self, Form, Known};
use super::wrong::Wrong;
use crate::door::Commit;
use tidegate_wire::resp::Protocol;
use tidegate_wire::resp::Words;
use tidegate_wire::resp::number;
use tidegate_wire::trust::{Caller, Trust};

/// What is to be done.
pub(super) enum Command<'b> {
    /// Something is asked of the store.
    Ask(Ask<'b>),
    /// It is answered at once.
    Tell(Tell<'b>),
}

/// What is asked of the store.
pub(super) enum Ask<'b> {
    Throttle(throttle::Question<'b>),
    Check(Question<'b>),
    Reserve(Box<Question<'b>>),
    Commit(Box<Commit>),
    Cancel(Ticket),
    Refund(Box<Question<'b>>),
    Release(Ticket),
}

/// What is answered at once.
pub(super) enum Tell<'b> {
    Explain(Box<Question<'b>>),
    Ping(Option<&'b [u8]>),
    Echo(&'b [u8]),
    Hello(Hello<'b>),
    Login {
        user: Option<&'b [u8]>,
        password: &'b [u8],
    },
    SetName(&'b [u8]),
    GetName,
    Id,
    Commands(Commands),
    Info,
    Reset,
    Quit,
    /// Nothing to tell but that it was heard.
    Fine,
}

/// What is asked about commands.
pub(super) enum Commands {
    Count,
    Names,
    /// These; none for a name that is not known.
    Entries(Vec<Option<&'static Entry>>),
    Docs(Vec<&'static Entry>),
}

/// How a connection begins.
#[derive(Default)]
pub(super) struct Hello<'b> {
    pub(super) protocol: Option<Protocol>,
    pub(super) login: Option<(&'b [u8], &'b [u8])>,
    pub(super) name: Option<&'b [u8]>,
}

impl<'b> Command<'b> {
    /// Leaves out what the caller claims without being trusted.
    pub(super) fn keep_what_counts(&mut self, trust: &Trust, caller: Caller) {
        match self {
            Self::Ask(Ask::Check(question)) => question.keep_what_counts(trust, caller),
            Self::Ask(Ask::Commit(commit)) => commit.keep_what_counts(trust, caller),
            Self::Ask(Ask::Reserve(question) | Ask::Refund(question))
            | Self::Tell(Tell::Explain(question)) => question.keep_what_counts(trust, caller),
            _ => {}
        }
    }

    /// Reads the words of a command that is known and has as many as it should.
    pub(super) fn read(entry: &Entry, words: &Words<'_, 'b>, known: &mut Known) -> Result<Self, Wrong> {
        let word = |place| words.get(place).unwrap_or_default();
        let throttle = |form, known| throttle::Question::read(form, words, known).map(Ask::Throttle);
        Ok(match entry.which {
            Which::ClThrottle => Self::Ask(throttle(Form::RedisCell, known)?),
            Which::Throttle => Self::Ask(throttle(Form::Throttlecrab, known)?),
            Which::Check => Self::Ask(Ask::Check(Question::read(entry, words)?)),
            Which::Reserve => Self::Ask(Ask::Reserve(Box::new(Question::read(entry, words)?))),
            Which::Commit => Self::Ask(Ask::Commit(Box::new(question::commit(entry, words)?))),
            Which::Cancel => Self::Ask(Ask::Cancel(question::ticket(word(1))?)),
            Which::Refund => Self::Ask(Ask::Refund(Box::new(Question::read(entry, words)?))),
            Which::Release => Self::Ask(Ask::Release(question::ticket(word(1))?)),
            Which::Explain => Self::Tell(Tell::Explain(Box::new(Question::read(entry, words)?))),
            Which::Ping => Self::Tell(Tell::Ping(words.get(1))),
            Which::Echo => Self::Tell(Tell::Echo(word(1))),
            Which::Hello => Self::Tell(Tell::Hello(hello(entry, words)?)),
            Which::Auth => Self::Tell(login(words)),
            Which::Client => Self::Tell(client(entry, words)?),
            Which::Command => Self::Tell(Tell::Commands(commands(entry, words)?)),
            Which::Info => Self::Tell(Tell::Info),
            Which::Select if word(1) == b"0" => Self::Tell(Tell::Fine),
            Which::Select => return Err(Wrong::new("there is one database, 0")),
            Which::Reset => Self::Tell(Tell::Reset),
            Which::Quit => Self::Tell(Tell::Quit),
        })
    }
}

/// The entry of a command, if it has as many words as it should.
pub(super) fn entry(words: &Words<'_, '_>) -> Result<&'static Entry, Wrong> {
    let name = words.get(0).unwrap_or_default();
    let entry = table::find(name).ok_or_else(|| Wrong::unknown(name))?;
    let (least, most) = entry.words;
    if (least..=most).contains(&words.len()) { Ok(entry) } else { Err(Wrong::count(entry)) }
}

fn login<'b>(words: &Words<'_, 'b>) -> Tell<'b> {
    let word = |place| words.get(place).unwrap_or_default();
    if words.len() == 2 {
        return Tell::Login { user: None, password: word(1) };
    }
    Tell::Login { user: Some(word(1)), password: word(2) }
}

fn hello<'b>(entry: &Entry, words: &Words<'_, 'b>) -> Result<Hello<'b>, Wrong> {
    let mut hello = Hello::default();
    let mut rest = words.iter().skip(1);
    hello.protocol = match rest.next().map(number) {
        None => None,
        Some(Some(2)) => Some(Protocol::Resp2),
        Some(Some(3)) => Some(Protocol::Resp3),
        Some(_) => return Err(Wrong::with_code("NOPROTO", "unsupported protocol version; write 2 or 3")),
    };
    let usage = || Wrong::usage(entry);
    while let Some(option) = rest.next() {
        if option.eq_ignore_ascii_case(b"AUTH") {
            hello.login = Some((rest.next().ok_or_else(usage)?, rest.next().ok_or_else(usage)?));
        } else if option.eq_ignore_ascii_case(b"SETNAME") {
            hello.name = Some(client_name(rest.next().ok_or_else(usage)?)?);
        } else {
            return Err(usage());
        }
    }
    Ok(hello)
}

fn client<'b>(entry: &Entry, words: &Words<'_, 'b>) -> Result<Tell<'b>, Wrong> {
    let part = words.get(1).unwrap_or_default();
    Ok(match (part.to_ascii_uppercase().as_slice(), words.get(2), words.len()) {
        (b"ID", _, 2) => Tell::Id,
        (b"GETNAME", _, 2) => Tell::GetName,
        (b"SETNAME", Some(name), 3) => Tell::SetName(client_name(name)?),
        // What library it is: nobody asks.
        (b"SETINFO", _, 4) => Tell::Fine,
        (b"ID" | b"GETNAME" | b"SETNAME" | b"SETINFO", ..) => return Err(Wrong::count(entry)),
        _ => return Err(Wrong::unknown_part(entry, part)),
    })
}

/// The longest name of a connection.
const MAX_NAME_BYTES: usize = 256;

fn client_name(name: &[u8]) -> Result<&[u8], Wrong> {
    if name.len() > MAX_NAME_BYTES || !name.iter().all(u8::is_ascii_graphic) {
        return Err(Wrong::new(format!(
            "the name of a connection has up to {MAX_NAME_BYTES} visible characters and no spaces"
        )));
    }
    Ok(name)
}

fn commands(entry: &Entry, words: &Words<'_, '_>) -> Result<Commands, Wrong> {
    let all = || table::COMMANDS.iter();
    let named = || words.iter().skip(2).map(table::find);
    let Some(part) = words.get(1) else { return Ok(Commands::Entries(all().map(Some).collect())) };
    Ok(match (part.to_ascii_uppercase().as_slice(), words.len()) {
        (b"COUNT", 2) => Commands::Count,
        (b"LIST", 2) => Commands::Names,
        (b"INFO", 2) => Commands::Entries(all().map(Some).collect()),
        (b"INFO", _) => Commands::Entries(named().collect()),
        (b"DOCS", 2) => Commands::Docs(all().collect()),
        (b"DOCS", _) => Commands::Docs(named().flatten().collect()),
        (b"COUNT" | b"LIST", _) => return Err(Wrong::count(entry)),
        _ => return Err(Wrong::unknown_part(entry, part)),
    })
}
