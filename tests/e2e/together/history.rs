//! What all nodes said under load, and whether each of them could say it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::time::Duration;

use super::asker::Said;
use super::load::CEILING;
use super::traffic::Caller;

/// One question and what came of it.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) node: usize,
    pub(super) class: &'static str,
    pub(super) caller: Caller,
    /// When it was asked and answered, since the load began.
    pub(super) from: Duration,
    pub(super) to: Duration,
    pub(super) said: io::Result<Said>,
}

/// What is told apart when it is said for how long something was so.
const SLICE: Duration = Duration::from_millis(100);

/// All questions, in the order in which they were asked.
pub(super) struct History(Vec<Event>);

/// What happened, in numbers.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) answers: usize,
    pub(super) exact: usize,
    pub(super) local: usize,
    pub(super) undecided: usize,
    pub(super) longest: Duration,
    /// How long some answers were not exact, in slices.
    pub(super) without: Duration,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answers, exact, local, undecided, longest, without } = self;
        write!(f, "{answers} answers, {exact} exact, {local} local, {undecided} undecided, ")?;
        write!(f, "the longest after {longest:.1?}, not exact for {without:.1?}")
    }
}

impl Event {
    pub(super) fn is_admitted(&self) -> bool {
        self.status() == 200
    }

    pub(super) fn is_exact(&self) -> bool {
        self.said.as_ref().is_ok_and(Said::is_exact)
    }

    pub(super) fn is_local(&self) -> bool {
        self.said.as_ref().is_ok_and(|said| said.state == "local")
    }

    fn length(&self) -> Duration {
        self.to.saturating_sub(self.from)
    }

    pub(super) fn is_refused(&self) -> bool {
        self.status() == 429
    }

    fn status(&self) -> u16 {
        self.said.as_ref().map_or(0, |said| said.status)
    }

    /// Whether it was answered as its class says: by all nodes together, and otherwise by this one alone or not at all.
    fn is_as_its_class_says(&self) -> bool {
        let Ok(said) = &self.said else { return false };
        let is_decided = matches!(said.status, 200 | 429);
        match (said.state.as_str(), self.class) {
            ("exact", _) | ("local", "comfort" | "cost") => is_decided,
            ("open", "security" | "strict") => said.status == 503 && said.reason == "undecided",
            _ => false,
        }
    }
}

impl History {
    pub(super) fn new(mut events: Vec<Event>) -> Self {
        events.sort_by_key(|event| event.from);
        Self(events)
    }

    /// Fails unless every question was answered in time and as its class says, and nobody honest was refused.
    pub(super) fn every_answer_is_right(&self) {
        for event in &self.0 {
            assert!(event.said.is_ok(), "it has no answer: {event:?}");
            assert!(event.length() < CEILING, "the answer is too late: {event:?}");
            assert!(event.is_as_its_class_says(), "its class does not say so: {event:?}");
            assert!(
                !event.caller.is_honest() || event.status() != 429,
                "somebody honest is refused: {event:?}"
            );
        }
    }

    /// What was said about each of those who ask for too much.
    pub(super) fn by_key(&self) -> BTreeMap<(&'static str, Caller), Vec<&Event>> {
        let mut keys: BTreeMap<_, Vec<&Event>> = BTreeMap::new();
        for event in self.0.iter().filter(|event| !event.caller.is_honest()) {
            keys.entry((event.class, event.caller)).or_default().push(event);
        }
        keys
    }

    pub(super) fn figures(&self) -> Figures {
        let count = |is_so: &dyn Fn(&&Event) -> bool| self.0.iter().filter(is_so).count();
        let (answers, exact, local) =
            (self.0.len(), count(&|event| event.is_exact()), count(&|event| event.is_local()));
        let others = self.0.iter().filter(|event| !event.is_exact());
        let slices: BTreeSet<u128> = others.map(|event| event.from.as_millis() / SLICE.as_millis()).collect();
        let without = SLICE * u32::try_from(slices.len()).unwrap();
        let longest = self.0.iter().map(Event::length).max().unwrap_or_default();
        Figures { answers, exact, local, undecided: answers - exact - local, longest, without }
    }
}
