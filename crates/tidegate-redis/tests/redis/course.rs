//! A random history as it goes on: what is asked next, and what the reference store says to it.

use tidegate_core::{Plan, Timestamp};
use tidegate_store::{Answer, AtEnd, Hold, Reference, Settlement, Store, StoreError, Verdicts};

use crate::history::{Event, What, plan};

const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_123);

/// How far it has come.
pub(crate) struct Course {
    pub(crate) reference: Reference,
    pub(crate) now: Timestamp,
    reserved: Vec<Plan>,
    /// Loans and their ends. The reference store gives all back at once; in Redis each comes back when its counter is next asked,
    /// at the rate of its own limit until then.
    lent: Vec<(Timestamp, Plan)>,
}

/// What comes of an event.
#[derive(Debug, PartialEq)]
pub(crate) enum Came {
    Answer(Answer),
    Settled(Settlement),
    Units(u64),
    Raised(Verdicts),
    Until(Option<Timestamp>),
    Done,
}

impl Course {
    pub(crate) fn new() -> Self {
        Self { reference: Reference::new(), now: START, reserved: Vec::new(), lent: Vec::new() }
    }

    /// Goes on to the next event; its plan, if it has one, and the plans of loans that have ended, which are to be looked at first.
    pub(crate) fn next(&mut self, number: u64, event: &Event) -> (Option<Plan>, Vec<Plan>) {
        self.now = self.now.plus_us(event.pause_us);
        // Gives back what has ended, as every store does before it is asked.
        self.reference.read_now(&Plan::new(), self.now).unwrap();
        let now = self.now;
        let ended = self.lent.extract_if(.., |(end, _)| *end <= now).map(|(_, plan)| plan).collect();
        let asked = match event.what {
            What::Settle { .. } if self.reserved.is_empty() => None,
            What::Settle { which, .. } => Some(self.reserved[which % self.reserved.len()].clone()),
            _ => Some(plan(event, number)),
        };
        (asked, ended)
    }

    /// What the reference store says.
    pub(crate) fn expected(&mut self, what: &What, plan: &Plan) -> Result<Came, StoreError> {
        let came = crate::server::ready(act(&self.reference, what, plan, self.now));
        if let (What::Reserve { term_us, lent }, Ok(Came::Answer(answer))) = (what, &came)
            && answer.allowed()
            && !answer.replayed
        {
            self.lent.extend(lent.then(|| (self.now.plus_us(*term_us), plan.clone())));
            self.reserved.push(plan.clone());
        }
        came
    }
}

/// Has a store do what happens.
pub(crate) async fn act(
    store: &impl Store,
    what: &What,
    plan: &Plan,
    now: Timestamp,
) -> Result<Came, StoreError> {
    match *what {
        What::Decide => store.decide(plan, now).await.map(Came::Answer),
        What::Read => store.read(plan, now).await.map(Came::Answer),
        What::Refund { before_us } => {
            store.refund(plan, now.minus_us(before_us), now).await.map(|()| Came::Done)
        }
        What::Release => store.release(plan, now).await.map(Came::Units),
        What::Renew => store.renew(plan, now).await.map(Came::Until),
        What::Raise => store.raise(plan, now).await.map(Came::Raised),
        // How much was forgotten depends on what had emptied before.
        What::Reset => store.reset(plan, now).await.map(|_| Came::Done),
        What::Reserve { term_us, lent } => {
            let at_end = if lent { AtEnd::GiveBack } else { AtEnd::Keep };
            store.reserve(plan, Hold { term_us, at_end }, now).await.map(Came::Answer)
        }
        What::Settle { times: None, .. } => store.cancel(plan.ticket(), now).await.map(Came::Settled),
        What::Settle { times: Some(times), .. } => {
            let costs: Vec<u64> = plan.charges().map(|charge| charge.cost * times / 2).collect();
            store.commit(plan.ticket(), &costs, now).await.map(Came::Settled)
        }
    }
}
