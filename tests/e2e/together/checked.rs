//! What all nodes said of one key, as the checker of histories reads it.
//!
//! Who asks has seen when a question was sent and answered, not when it was decided. Decisions only fill the counter of a day, so
//! an admission is taken to have been made as early as it can have been, and a refusal as late: if there is any order in which the answers
//! are right, they are right in this one.

use std::time::Duration;

use tidegate_core::{Key, Limit, Outcome, Plan, Retry, State, Timestamp};
use tidegate_store::Answer;
use tidegate_store::history::{self, Checked, Claims, Order, Violation, What};

use super::history::Event;
use super::stage::NODES;
use super::traffic::LIMIT;

const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);
const DAY: Duration = Duration::from_secs(86_400);

/// Holds what was said against both bounds: units past the limit, and units left of it when a node refuses.
///
/// All nodes together refuse too early by what was spent and not admitted: calls that may have run before nobody answered. A node alone
/// refuses when its part is used, whatever the others have left of theirs.
pub(super) fn check(events: &[&Event], over: usize) -> Result<Checked, Violation> {
    let spent = events.iter().filter(|event| may_be_spent(event)).count();
    let alone = LIMIT - LIMIT.div_ceil(NODES) + spent;
    let exact: Vec<&Event> =
        events.iter().filter(|event| !(event.is_local() && event.is_refused())).copied().collect();
    judged(&exact, over, spent)?;
    judged(events, over, alone)
}

/// Whether Redis may count it although nobody was admitted for it. What is counted for an organisation as well may be held on one
/// server of a Cluster until the other has answered, and be admitted by the node alone meanwhile.
fn may_be_spent(event: &Event) -> bool {
    let has_two_homes = matches!(event.class, "cost" | "strict");
    !event.is_exact() && (!event.is_admitted() || has_two_homes)
}

fn judged(events: &[&Event], over: usize, early: usize) -> Result<Checked, Violation> {
    let claims = Claims { over: over.try_into().unwrap(), early: early.try_into().unwrap() };
    let decided = events.iter().filter(|event| event.is_admitted() || event.is_refused());
    history::check(&decided.map(|event| read(event)).collect::<Vec<_>>(), Order::Instants, claims)
}

fn read(event: &Event) -> history::Event {
    let limit = Limit::sliding_log(LIMIT.try_into().unwrap(), DAY).unwrap();
    let mut plan = Plan::new();
    plan.charge(Key { home: &[b"caller"], own: &[] }, limit, 1).unwrap();
    let refused = Outcome::Refused(Retry::After(0));
    let (at, outcome) =
        if event.is_admitted() { (event.from, Outcome::Allowed) } else { (event.to, refused) };
    let now = START.plus_us(at.as_micros().try_into().unwrap());
    let verdict = limit.verdict(&State::EMPTY, now, outcome);
    let answer = Answer::new(&plan, std::iter::once(verdict).collect(), |_| event.is_admitted());
    history::Event { now, plan, what: What::Decided(answer) }
}
