//! One connection's talk, without the connection: bytes come in, replies go out. Whoever has the socket reads into
//! [`room`](Session::room), lets it [answer](Session::answer), and sends the [replies](Session::replies).

mod requests;
mod telling;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tidegate_store::Store;

use super::command::Command;
use super::input::Input;
use super::login::Password;
use super::peer::{Lock, Peer};
use crate::door::{Door, Share};
use requests::RequestQueue;
use tidegate_wire::resp::{Protocol, Replies};
use tidegate_wire::trust;

/// When so many bytes of replies wait, they are sent before more is answered; so much room is kept from one time to the next.
const MOST_REPLY_BYTES: usize = 16 << 10;
/// Room that any connection may have for replies meanwhile; what a longer one needs is shared by all.
const USUAL_REPLY_BYTES: usize = 2 * MOST_REPLY_BYTES;

/// Answers connections through a door.
#[derive(Debug)]
pub struct Service<S> {
    pub(super) door: Door<S>,
    password: Option<Password>,
    connections: AtomicU64,
}

/// One connection's talk.
pub struct Session<'s, S> {
    service: &'s Service<S>,
    input: Input<'s>,
    peer: Peer,
    pub(super) replies: Replies,
    /// How many bytes of replies are whole ones.
    whole: usize,
    /// What replies hold beyond the usual.
    share: Share<'s>,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send the replies and read more.
    Read,
    /// Send the replies and let it answer again: there is more.
    Answer,
    /// Send the replies and close.
    Close,
}

impl<S: Store> Service<S> {
    /// Answers through that door, those who know the password if there is one.
    pub fn new(door: Door<S>, password: Option<Password>) -> Self {
        Self { door, password, connections: AtomicU64::new(0) }
    }

    /// What has to be shown, and to whom.
    fn lock(&self) -> Lock<'_> {
        Lock { password: self.password.as_ref(), trust: &self.door.settings().trust }
    }

    /// The talk of a new connection from nobody knows where.
    pub fn session(&self) -> Session<'_, S> {
        self.session_from(None)
    }

    /// The talk of a new connection from there.
    pub fn session_from(&self, from: Option<trust::Peer>) -> Session<'_, S> {
        let id = self.connections.fetch_add(1, Relaxed) + 1;
        Session {
            service: self,
            input: Input::new(self.door.bodies()),
            peer: Peer::new(id, from, self.lock()),
            replies: Replies::new(Protocol::default()),
            whole: 0,
            share: self.door.bodies().share(),
        }
    }
}

impl<S: Store> Session<'_, S> {
    /// Where bytes are to be put as they come, behind those that are there. If other connections have too much, there is no room:
    /// the replies say so, and the connection should be closed.
    pub fn room(&mut self) -> Option<&mut Vec<u8>> {
        let room = self.input.room();
        if room.is_none() {
            self.replies.error("ERR", "too many long commands at once; try again in 1 s");
        }
        room
    }

    /// Answers the commands that are whole, as many as their replies have room.
    pub async fn answer(&mut self) -> Next {
        let Self { service, input, peer, replies, whole, share } = self;
        let (door, bytes) = (&service.door, input.bytes.as_slice());
        let mut queue = RequestQueue::new(door);
        let next = loop {
            *whole = replies.bytes.len();
            if *whole >= MOST_REPLY_BYTES {
                break Next::Answer;
            }
            let mut understood = match input.decoder.next(&bytes[input.read..]) {
                Ok(None) => break Next::Read,
                Ok(Some(words)) => peer.understand(&words),
                Err(wrong) => {
                    door.note_malformed();
                    queue.finish(replies).await;
                    replies.error("ERR", format_args!("Protocol error: {wrong}"));
                    break Next::Close;
                }
            };
            input.read += input.decoder.take();
            if !peer.caller.is_trusted()
                && let Ok(command) = &mut understood
            {
                command.keep_what_counts(&door.settings().trust, peer.caller);
            }
            match understood {
                Ok(Command::Ask(ask)) => {
                    if let Some(reply) = queue.begin(ask, replies) {
                        queue.push(reply, replies).await;
                    }
                }
                Ok(Command::Tell(tell)) => {
                    queue.finish(replies).await;
                    let before = replies.bytes.len();
                    if let Err(wrong) = service.tell(&tell, peer, replies) {
                        wrong.write(replies);
                    }
                    if !pay(share, replies) {
                        replies.bytes.truncate(before);
                        replies.bytes.shrink_to(USUAL_REPLY_BYTES);
                        replies.error("ERR", "too many long replies at once; try again in 1 s");
                        break Next::Close;
                    }
                    if peer.is_leaving() {
                        break Next::Close;
                    }
                }
                Err(wrong) => {
                    door.note_malformed();
                    queue.finish(replies).await;
                    wrong.write(replies);
                }
            }
        };
        queue.finish(replies).await;
        *whole = replies.bytes.len();
        if pay(share, replies) { next } else { Next::Close }
    }

    /// What should be sent.
    pub fn replies(&self) -> &[u8] {
        &self.replies.bytes
    }

    /// The replies were sent.
    pub fn sent(&mut self) {
        self.whole = 0;
        self.replies.bytes.clear();
        self.replies.bytes.shrink_to(MOST_REPLY_BYTES);
        if self.share.bytes() > 0 {
            self.share = self.service.door.bodies().share();
        }
    }

    /// Something broke while it answered: what is half written is taken back, and it is said so.
    pub fn broke(&mut self) {
        self.replies.bytes.truncate(self.whole);
        self.replies.error("ERR", "something broke on the way");
    }

    /// How many of the passwords that were said are not it.
    pub fn wrong_passwords(&self) -> u64 {
        self.peer.failures()
    }

    /// Whether no command has come in part.
    pub fn is_between(&self) -> bool {
        self.input.is_between()
    }
}

/// Pays for the room of replies that are longer than usual; `false` if others have too much of it.
fn pay(share: &mut Share<'_>, replies: &Replies) -> bool {
    let beyond = replies.bytes.capacity().saturating_sub(USUAL_REPLY_BYTES);
    beyond <= share.bytes() || share.grow(beyond - share.bytes())
}

/// What was said may be secret.
impl<S> std::fmt::Debug for Session<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.peer.id)
            .field("protocol", &self.replies.protocol)
            .finish_non_exhaustive()
    }
}
