//! What is answered without asking anybody.

use tidegate_store::Store;

use super::super::command::Tell;
use super::super::peer::Peer;
use super::super::question::Question;
use super::super::wrong::Wrong;
use super::super::{about, explain};
use super::Service;
use tidegate_wire::resp::Replies;

impl<S: Store> Service<S> {
    /// Answers what asks nothing of the store.
    pub(super) fn tell(&self, tell: &Tell<'_>, peer: &mut Peer, replies: &mut Replies) -> Result<(), Wrong> {
        let lock = self.lock();
        match tell {
            Tell::Explain(question) => return self.explain(question, replies),
            Tell::Ping(None) => replies.simple("PONG"),
            Tell::Ping(Some(message)) | Tell::Echo(message) => replies.bulk(message),
            Tell::Hello(hello) => {
                peer.begin(hello, lock, replies)?;
                about::greeting(peer.id, replies);
            }
            Tell::Commands(what) => about::commands(what, replies),
            Tell::Info => about::info(self.door.engine(), self.door.in_flight(), replies),
            Tell::Id => replies.count(peer.id),
            Tell::GetName => replies.bulk_or_null(Some(&*peer.name).filter(|name| !name.is_empty())),
            Tell::Reset => {
                peer.begin_anew(lock, replies);
                replies.simple("RESET");
            }
            Tell::Login { user, password: word } => {
                peer.log_in(lock, (*user, word))?;
                replies.simple("OK");
            }
            Tell::SetName(name) => {
                peer.name = (*name).into();
                replies.simple("OK");
            }
            Tell::Quit => {
                peer.leave();
                replies.simple("OK");
            }
            Tell::Fine => replies.simple("OK"),
        }
        Ok(())
    }

    fn explain(&self, question: &Question<'_>, replies: &mut Replies) -> Result<(), Wrong> {
        let explanation = self.door.explain(&question.check());
        let explanation = explanation.map_err(|malformed| Wrong::new(malformed.to_string()))?;
        let lines = explain::lines(&explanation, self.door.settings().tell_shadow);
        replies.array(lines.len());
        for line in &lines {
            replies.bulk(line.as_bytes());
        }
        Ok(())
    }
}
