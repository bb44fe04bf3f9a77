//! What `TG.CHECK` and its kind ask: a request of a domain, as names and values; and what a reservation used.

use smallvec::SmallVec;
use tidegate_core::Ticket;
use tidegate_engine::check::MAX_ATTRIBUTES;
use tidegate_engine::{Check, Decision, LimitView, Settled};

use super::table::Entry;
use super::wrong::Wrong;
use crate::door::{Commit, decision_id};
use tidegate_wire::resp::Replies;
use tidegate_wire::resp::Words;
use tidegate_wire::resp::number;
use tidegate_wire::trust::{Caller, Trust};

/// What stands before the cost: in capitals, because an attribute may have that name too.
const COST: &[u8] = b"COST";

type Pairs<'b> = SmallVec<[(&'b str, &'b str); 6]>;

/// A question.
pub(super) struct Question<'b> {
    domain: &'b str,
    attributes: Pairs<'b>,
    cost: u64,
}

impl<'b> Question<'b> {
    /// Reads `domain [attribute value …] [COST n]`.
    pub(super) fn read(entry: &Entry, words: &Words<'_, 'b>) -> Result<Self, Wrong> {
        let (attributes, cost) = attributes_and_cost(entry, words)?;
        let domain = text("the domain", words.get(1).unwrap_or_default())?;
        Ok(Self { domain, attributes, cost: cost.unwrap_or(1) })
    }

    /// Leaves out what the caller claims without being trusted.
    pub(super) fn keep_what_counts(&mut self, trust: &Trust, caller: Caller) {
        self.attributes.retain(|(attribute, _)| !trust.ignores(caller, attribute));
    }

    pub(super) fn check(&self) -> Check<'_> {
        Check { attributes: &self.attributes, cost: self.cost, ..Check::new(self.domain) }
    }
}

/// Values may be secret.
impl std::fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.check().fmt(f)
    }
}

/// Reads a commit: `id attribute value …` or `id COST n`.
pub(super) fn commit(entry: &Entry, words: &Words<'_, '_>) -> Result<Commit, Wrong> {
    let id = ticket(words.get(1).unwrap_or_default())?;
    let (attributes, cost) = attributes_and_cost(entry, words)?;
    let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Commit::new(id, cost, attributes.collect()).map_err(Wrong::new)
}

/// Reads `[attribute value …] [COST n]` behind the first two words.
fn attributes_and_cost<'b>(entry: &Entry, words: &Words<'_, 'b>) -> Result<(Pairs<'b>, Option<u64>), Wrong> {
    let word = |place| words.get(place).unwrap_or_default();
    let (mut end, mut cost) = (words.len(), None);
    if end > 3 && word(end - 2) == COST {
        cost = Some(number(word(end - 1)).ok_or_else(|| Wrong::new("COST should be a whole number"))?);
        end -= 2;
    }
    if end % 2 != 0 {
        return Err(Wrong::count(entry));
    }
    let pairs = (2..end).step_by(2);
    let attributes = pairs
        .map(|place| Ok((text("the name of an attribute", word(place))?, text("a value", word(place + 1))?)));
    let attributes = attributes.collect::<Result<_, Wrong>>()?;
    if has_a_name_twice(&attributes) {
        return Err(Wrong::new("an attribute is named twice; name it once"));
    }
    Ok((attributes, cost))
}

/// Too many are refused for that.
fn has_a_name_twice(pairs: &Pairs<'_>) -> bool {
    let is_behind = |place: usize| pairs[place + 1..].iter().any(|(name, _)| *name == pairs[place].0);
    pairs.len() <= MAX_ATTRIBUTES && (0..pairs.len()).any(is_behind)
}

fn text<'b>(what: &str, word: &'b [u8]) -> Result<&'b str, Wrong> {
    str::from_utf8(word).map_err(|_| Wrong::new(format!("{what} should be UTF-8")))
}

/// The 32 digits of a decision's id.
pub(super) fn ticket(word: &[u8]) -> Result<Ticket, Wrong> {
    let is_sound = word.len() == 32 && word.iter().all(u8::is_ascii_hexdigit);
    let digits = str::from_utf8(word).ok().filter(|_| is_sound);
    let number = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok());
    number.map(Ticket).ok_or_else(|| Wrong::new("the id should be the 32 hexadecimal digits of a decision"))
}

/// Writes a decision, under which something may be held: eleven things, in the order of their usefulness.
///
/// Allowed (1 or 0), limit, remaining, retry after and reset after in milliseconds, of the limit that decided (-1 if there is none);
/// the rule that did; how exact it is; the decision in a word; by how many milliseconds to wait before going on; the id, if there is
/// something to give back; why, in a word.
pub(super) fn decision(decision: &Decision, is_held: bool, replies: &mut Replies) {
    let limit = decision.deciding_limit();
    let rule = match (&limit, decision.deciding_rule()) {
        (Some(view), _) => Some(view.rule_name()),
        (None, rule) => rule.map(|rule| &*rule.name),
    };
    replies.array(11);
    replies.integer(i64::from(decision.allowed()));
    let left = |view: &LimitView<'_>| if view.blocked_us > 0 { 0 } else { view.verdict.remaining };
    replies.count_or_none(limit.map(|view| view.verdict.limit));
    replies.count_or_none(limit.as_ref().map(left));
    replies.count_or_none(decision.retry_after_us().map(|us| us.div_ceil(1000)));
    replies.count(limit.map_or(0, |view| view.verdict.reset_after_us.max(view.blocked_us)).div_ceil(1000));
    replies.bulk_or_null(rule.map(str::as_bytes));
    replies.bulk(decision.state.word().as_bytes());
    replies.bulk(decision.outcome.word().as_bytes());
    replies.count(decision.delay_us.div_ceil(1000));
    let id = is_held.then(|| decision_id(decision));
    replies.bulk_or_null(id.as_deref().map(str::as_bytes));
    replies.bulk(decision.reason().as_bytes());
}

/// Writes what came of giving something back: 1 if it was done, 0 if there was nothing.
pub(super) fn settled(settled: &Settled, replies: &mut Replies) {
    match settled {
        Settled::Done => replies.integer(1),
        Settled::Gone => replies.integer(0),
        Settled::Failed(_) => replies.error("TRYAGAIN", "it could not be given back; try again in 1 s"),
    }
}
