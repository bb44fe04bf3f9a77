//! Who is at the other end: what it may do, what it is called, and what it asked for last.

use super::command::{self, Command, Hello};
use super::login::{Password, USER};
use super::throttle::Known;
use super::wrong::Wrong;
use tidegate_wire::resp::Words;
use tidegate_wire::resp::{Protocol, Replies};
use tidegate_wire::trust::{self, Caller, Trust};

/// After so many wrong passwords a connection is closed.
const MOST_FAILURES: u8 = 8;

/// What has to be shown, and what counts of whoever shows it.
#[derive(Clone, Copy)]
pub(super) struct Lock<'l> {
    pub(super) password: Option<&'l Password>,
    pub(super) trust: &'l Trust,
}

/// The other end of a connection.
pub(super) struct Peer {
    pub(super) id: u64,
    pub(super) name: Box<[u8]>,
    /// What its words count for.
    pub(super) caller: Caller,
    from: Option<trust::Peer>,
    /// Whether it has said the password, or there is none.
    is_let_in: bool,
    failures: u8,
    is_leaving: bool,
    known: Known,
}

impl Peer {
    pub(super) fn new(id: u64, from: Option<trust::Peer>, lock: Lock<'_>) -> Self {
        Self {
            id,
            name: Box::default(),
            caller: lock.trust.caller_at(from.as_ref()),
            from,
            is_let_in: lock.password.is_none(),
            failures: 0,
            is_leaving: false,
            known: Known::default(),
        }
    }

    /// What is meant, if it may be asked.
    pub(super) fn understand<'b>(&mut self, words: &Words<'_, 'b>) -> Result<Command<'b>, Wrong> {
        let entry = command::entry(words)?;
        if !self.is_let_in && !entry.is_open {
            return Err(Wrong::with_code("NOAUTH", "authentication required; send AUTH with the password"));
        }
        Command::read(entry, words, &mut self.known)
    }

    /// Whether that is the password, or the token of somebody whose word counts, who is let in as well.
    pub(super) fn log_in(
        &mut self,
        lock: Lock<'_>,
        (user, word): (Option<&[u8]>, &[u8]),
    ) -> Result<(), Wrong> {
        let is_user = user.is_none_or(|user| user == USER);
        if let Some(caller) = lock.trust.caller_with(self.from.as_ref(), word).filter(|_| is_user) {
            (self.is_let_in, self.caller) = (true, caller);
            return Ok(());
        }
        match lock.password {
            None if lock.trust.knows_tokens() => self.fail(),
            None if user.is_none() => Err(Wrong::new("there is no password here; leave AUTH out")),
            // The one user needs none, so any will do.
            None if is_user => Ok(()),
            Some(password) if password.is(word) && is_user => {
                (self.is_let_in, self.caller) = (true, lock.trust.caller_at(self.from.as_ref()));
                Ok(())
            }
            _ => self.fail(),
        }
    }

    fn fail(&mut self) -> Result<(), Wrong> {
        self.failures = self.failures.saturating_add(1);
        Err(Wrong::with_code("WRONGPASS", "invalid username-password pair"))
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures.into()
    }

    /// It wants to go.
    pub(super) fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// Whether it wants to go, or has tried too many passwords.
    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving || self.failures >= MOST_FAILURES
    }

    /// Begins as it wants to. Nothing of it counts if the password is wrong.
    pub(super) fn begin(
        &mut self,
        hello: &Hello<'_>,
        lock: Lock<'_>,
        replies: &mut Replies,
    ) -> Result<(), Wrong> {
        if let Some((user, word)) = hello.login {
            self.log_in(lock, (Some(user), word))?;
        }
        if !self.is_let_in {
            let words = "authentication required; write HELLO 3 AUTH default and the password";
            return Err(Wrong::with_code("NOAUTH", words));
        }
        if let Some(name) = hello.name {
            self.name = name.into();
        }
        replies.protocol = hello.protocol.unwrap_or(replies.protocol);
        Ok(())
    }

    /// As if it had come just now.
    pub(super) fn begin_anew(&mut self, lock: Lock<'_>, replies: &mut Replies) {
        (self.is_let_in, self.caller) = (lock.password.is_none(), lock.trust.caller_at(self.from.as_ref()));
        self.name = Box::default();
        replies.protocol = Protocol::default();
    }
}
