//! How much may be admitted of a key, given what happened; docs/concepts/together.md says it in words.

use std::time::Duration;

use super::checked;
use super::history::{Event, History};
use super::stage::NODES;
use super::traffic::LIMIT;

/// What the store forgot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forgot {
    Nothing,
    /// Everything at the first of these instants; by the second, nodes had told it again.
    All(Duration, Duration),
    /// What a replica had not received: it had all that was written by the first instant, and nothing was written after the second.
    What {
        received: Duration,
        lost: Duration,
    },
}

/// Fails if more was admitted of any key, or something was refused earlier, than the event allows; gives the most that was admitted,
/// and what was allowed then.
pub(super) fn hold(history: &History, forgot: Forgot) -> (usize, usize) {
    let admitted = history.by_key().into_iter().map(|(key, events)| {
        let bound = bound(&events, forgot);
        let checked = checked::check(&events, bound - LIMIT);
        let admitted =
            checked.unwrap_or_else(|violation| panic!("{violation} for {key:?}: {events:#?}")).admitted;
        (admitted, bound)
    });
    admitted.max().unwrap_or_default()
}

/// The limit, what was forgotten, and what nodes could not know of each other.
fn bound(events: &[&Event], forgot: Forgot) -> usize {
    let forgotten = match forgot {
        Forgot::Nothing => 0,
        Forgot::All(lost, told) => untold(events, lost, told).min(LIMIT),
        Forgot::What { received, lost } => {
            exact(events, received, Duration::MAX).filter(|event| event.from <= lost).count()
        }
    };
    LIMIT + forgotten + (0..NODES).map(|node| unknown_to(node, events)).sum::<usize>()
}

/// What was admitted by all nodes together and answered between two instants.
fn exact<'a>(events: &[&'a Event], from: Duration, to: Duration) -> impl Iterator<Item = &'a Event> {
    let is_so =
        move |event: &&Event| event.is_admitted() && event.is_exact() && from <= event.to && event.to <= to;
    events.iter().copied().filter(is_so)
}

/// What nobody could tell again: what was admitted between the loss and the telling; what came after the last but one of the nodes had
/// heard of the key, because one of them may remember another key in its place; and of what each node owed, as much as it had not
/// heard of, because others tell that and it counts as a part of it.
fn untold(events: &[&Event], lost: Duration, told: Duration) -> usize {
    let heard = |node: usize| {
        let heard = events.iter().filter(|event| event.node == node && event.is_exact() && event.to <= lost);
        heard.map(|event| event.to).max().unwrap_or_default()
    };
    let mut last: Vec<Duration> = (0..NODES).map(heard).collect();
    last.sort_unstable();
    let owed = |node: usize| {
        let owed =
            events.iter().filter(|event| event.node == node && event.is_local() && event.is_admitted());
        owed.count().min(exact(events, heard(node), lost).filter(|event| event.node != node).count())
    };
    let forgotten = exact(events, lost, told).count() + exact(events, last[NODES - 2], lost).count();
    forgotten + (0..NODES).map(owed).sum::<usize>()
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
