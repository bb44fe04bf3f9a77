//! How much may be admitted of a key, given what happened; docs/concepts/together.md says it in words.

use std::time::Duration;

use super::history::{Event, History};
use super::stage::NODES;
use super::traffic::LIMIT;

/// What the store forgot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forgot {
    Nothing,
    /// Everything, so many times.
    All(usize),
    /// What a replica had not received of what was written between these two instants.
    What(Duration, Duration),
}

/// Fails if more was admitted of any key than the event allows; gives the most that was, and what was allowed then.
pub(super) fn hold(history: &History, forgot: Forgot) -> (usize, usize) {
    let admitted = history.by_key().into_iter().map(|(key, events)| {
        let admitted = events.iter().filter(|event| event.is_admitted()).count();
        let bound = bound(&events, forgot);
        assert!(admitted <= bound, "{admitted} of {bound} for {key:?}: {events:#?}");
        (admitted, bound)
    });
    admitted.max().unwrap_or_default()
}

/// The limit, once more for each loss, and what nodes could not know of each other.
fn bound(events: &[&Event], forgot: Forgot) -> usize {
    let exact = |event: &&&Event| event.is_admitted() && event.is_exact();
    let forgotten = match forgot {
        Forgot::Nothing => 0,
        Forgot::All(times) => LIMIT * times,
        Forgot::What(from, to) => {
            events.iter().filter(exact).filter(|event| from <= event.to && event.to <= to).count()
        }
    };
    LIMIT + forgotten + (0..NODES).map(|node| unknown_to(node, events)).sum::<usize>()
}

/// What one node's deciding alone can come to beyond the limit, each time that it does: one unit, because parts are rounded up; its part
/// of what the others admitted before that it had not heard of; and what they admitted while they did not know of it, which is what it
/// owes at most.
fn unknown_to(node: usize, events: &[&Event]) -> usize {
    let own: Vec<&Event> = events.iter().filter(|event| event.node == node).copied().collect();
    let others = |from: Duration, to: Duration| {
        let is_between = |event: &&&Event| from < event.to && event.from < to;
        let exact =
            events.iter().filter(|event| event.node != node && event.is_admitted() && event.is_exact());
        exact.filter(is_between).count()
    };
    let (mut heard, mut unknown) = (Duration::ZERO, 0);
    let mut runs = own.chunk_by(|one, next| one.is_local() == next.is_local()).peekable();
    while let Some(run) = runs.next() {
        if !run[0].is_local() {
            heard = run[run.len() - 1].from;
            continue;
        }
        let (alone, until) = (run[0].from, runs.peek().map_or(Duration::MAX, |next| next[0].to));
        let owed = run.iter().filter(|event| event.is_admitted()).count();
        unknown += 1 + others(heard, alone).div_ceil(NODES) + others(alone, until).min(owed);
    }
    unknown
}
