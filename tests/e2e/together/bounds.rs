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

/// What a node that decided alone admitted too much at most: one unit each time, because parts are rounded up, and its part of what
/// the others admitted that it had not heard of.
fn unknown_to(node: usize, events: &[&Event]) -> usize {
    let (mut heard, mut unknown) = (Duration::ZERO, 0);
    let own: Vec<&Event> = events.iter().filter(|event| event.node == node).copied().collect();
    for run in own.chunk_by(|one, next| one.is_local() == next.is_local()) {
        let (first, last) = (run[0], run[run.len() - 1]);
        if first.is_local() {
            let unheard = |event: &&&Event| {
                event.node != node
                    && event.is_admitted()
                    && event.is_exact()
                    && heard < event.to
                    && event.from < last.to
            };
            unknown += 1 + events.iter().filter(unheard).count().div_ceil(NODES);
        } else {
            heard = last.from;
        }
    }
    unknown
}
