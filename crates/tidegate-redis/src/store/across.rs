//! Plans whose counters cannot be named in one call, because they live in different slots of a Cluster.
//!
//! Every home is asked at once, and reserves its part of the plan under one id. If all pass, the plan has passed, in one round
//! trip; that is then confirmed, and nobody waits for it. If one refuses, or does not answer, the others are told to give back.
//! Whatever happens to those words, each home gives back by itself what was not confirmed within [`CROSSING_US`].
//!
//! What holds: no limit is ever exceeded, except by plans that were admitted and whose confirmation was lost (the node died, or
//! the server did not answer, within that time). A plan that is refused holds its units for two round trips, and others may be
//! refused for them meanwhile; if its node dies, for [`CROSSING_US`].
//!
//! What a single home does strictly and several cannot: a later group is judged and paid home by home, as if each home's part of
//! it were a group of its own. What pays on refusal pays, on the homes that passed as well; a gate is closed by the limits of its
//! own home, which is where rules put them. A second delivery under one name that comes while the first is under way is not decided.

use futures_util::future::{join, join_all};
use tidegate_core::{Pay, Plan, Ticket, Timestamp};
use tidegate_store::{Answer, AtEnd, Hold, Settlement, StoreError, Verdicts};

use super::Redis;
use super::ask::garbled;
use super::ways::{reserving, settling, told};
use crate::call::Caller;
use crate::draft::{Draft, Held, Name, Way};
use crate::names::Seat;
use crate::reply::Told;

/// How long a home waits for the word that a plan was admitted everywhere.
pub(crate) const CROSSING_US: u64 = 1_000_000;

/// What the homes said.
struct Heard {
    /// Those that answered, and what they said.
    parts: Vec<(Draft, Told)>,
    /// Those that did not, and may hold something.
    silent: Vec<Draft>,
    error: Option<StoreError>,
}

impl<C: Caller + 'static> Redis<C> {
    pub(super) async fn decided_across(
        &self,
        plan: &Plan,
        seats: &[Seat],
        now: Timestamp,
    ) -> Result<Answer, StoreError> {
        let name = Name::of(plan, &self.names);
        if let Some(known) = self.claim_name(plan, name.as_ref(), now).await? {
            return Ok(known);
        }
        let hold = Hold { term_us: CROSSING_US, at_end: AtEnd::GiveBack };
        let heard = self.hear(self.parts(plan, seats, self.new_hold()).drafts, hold, now).await;
        let passed = heard.passed(plan);
        let told = if passed { heard.told(plan) } else { self.refuse(plan, &heard, now).await };
        self.settle_name(name, told.as_ref().ok().filter(|_| passed), now).await;
        if passed {
            self.confirm(heard.parts, now).await;
        }
        told?.answer(plan).ok_or_else(garbled)
    }

    pub(super) async fn reserved_across(
        &self,
        plan: &Plan,
        seats: &[Seat],
        hold: Hold,
        now: Timestamp,
    ) -> Result<Answer, StoreError> {
        let (name, ticket) = (Name::of(plan, &self.names), plan.ticket());
        if let Some(known) = self.claim_name(plan, name.as_ref(), now).await? {
            return Ok(known);
        }
        let mut held = self.parts(plan, seats, ticket);
        let claim = self.claim_ticket(ticket, &held, hold, now);
        let (claimed, mut heard) = join(claim, self.hear(held.drafts.clone(), hold, now)).await;
        let is_mine = claimed.is_ok();
        heard.error = claimed.err().or(heard.error);
        let passed = heard.passed(plan);
        let told = if passed { heard.told(plan) } else { self.refuse(plan, &heard, now).await };
        self.settle_name(name, told.as_ref().ok().filter(|_| passed), now).await;
        if passed {
            held.drafts = heard.parts.into_iter().map(|(draft, _)| draft).collect();
            self.open.insert(ticket, held);
        } else if is_mine {
            self.drop_ticket(ticket, now).await;
        }
        told?.answer(plan).ok_or_else(garbled)
    }

    /// Settles at these costs, or at nothing, in every home that still holds its part.
    pub(super) async fn settled_across(
        &self,
        ticket: Ticket,
        held: Held,
        costs: Option<&[u64]>,
        now: Timestamp,
    ) -> Result<Settlement, StoreError> {
        let charges = held.drafts.iter().map(|draft| draft.indices.len()).sum();
        if let Some(costs) = costs.filter(|costs| costs.len() != charges) {
            return Err(StoreError::CostCount { charges, costs: costs.len() });
        }
        let of = |draft: &Draft| match costs {
            Some(costs) => settling(Some(&draft.of_each(costs))),
            None => settling(None),
        };
        let replies = self.ask_each(held.drafts, (Way::Settle, now), of).await;
        // A home that did not answer may hold its part: whoever asks again finds it. If all hold nothing, the note is another's.
        let is_gone = |reply: &Vec<u8>| reply == b"G";
        if replies.iter().all(|(_, reply)| reply.is_ok()) {
            self.open.remove(ticket);
            if !replies.iter().all(|(_, reply)| reply.as_ref().is_ok_and(is_gone)) {
                self.drop_ticket(ticket, now).await;
            }
        }
        let mut verdicts = vec![None; charges];
        let mut gone = Vec::new();
        for (draft, reply) in replies {
            match reply?.as_slice() {
                b"G" => gone.push(draft),
                reply => draft.put_verdicts(&told(reply)?.verdicts(), &mut verdicts),
            }
        }
        if gone.iter().map(|draft| draft.indices.len()).sum::<usize>() == charges {
            return Ok(Settlement::Gone);
        }
        for (draft, reply) in self.ask_all(gone, (Way::Read, now), &[]).await {
            draft.put_verdicts(&told(&reply?)?.verdicts(), &mut verdicts);
        }
        verdicts.into_iter().collect::<Option<Verdicts>>().map(Settlement::Settled).ok_or_else(garbled)
    }

    /// Asks all homes at once to hold their parts.
    async fn hear(&self, mut drafts: Vec<Draft>, hold: Hold, now: Timestamp) -> Heard {
        let mut rest = Vec::new();
        for draft in &mut drafts {
            rest = reserving(hold, draft);
        }
        let mut heard = Heard { parts: Vec::new(), silent: Vec::new(), error: None };
        for (draft, reply) in self.ask_all(drafts, (Way::Reserve, now), &rest).await {
            match reply.and_then(|reply| told(&reply)) {
                Ok(told) => heard.parts.push((draft, told)),
                Err(error) => heard.missed(draft, error),
            }
        }
        heard
    }

    /// Gives back what was held, and tells the counters as that leaves them.
    async fn refuse(&self, plan: &Plan, heard: &Heard, now: Timestamp) -> Result<Told, StoreError> {
        let drafts: Vec<Draft> = heard.held(plan).chain(&heard.silent).cloned().collect();
        let left = |index: &u8| {
            let charge = plan.get(usize::from(*index));
            if charge.pay == Pay::Always { charge.cost } else { 0 }
        };
        let of = |draft: &Draft| settling(Some(&draft.indices.iter().map(left).collect::<Vec<_>>()));
        if let Some(error) = &heard.error {
            // Whoever asked has waited for one deadline already.
            let settled = drafts.into_iter().map(|draft| (of(&draft), draft)).collect();
            aside(self.clone().give_back(settled, now)).await;
            return Err(error.clone());
        }
        let replies = self.ask_each(drafts, (Way::Settle, now), of).await;
        let mut parts = heard.parts.clone();
        for (draft, reply) in replies {
            let Ok(after) = reply.and_then(|reply| told(&reply)) else { continue };
            for (_, before) in parts.iter_mut().filter(|(part, _)| part.indices == draft.indices) {
                let pays = |index: &u8| plan.get(usize::from(*index)).pay == Pay::Always;
                before.leave(&after, |at| draft.indices.get(at).is_some_and(pays));
            }
        }
        joined(plan, &parts)
    }

    /// Settles each of them so, whatever comes of it.
    async fn give_back(self, settled: Vec<(Vec<u8>, Draft)>, now: Timestamp) {
        let each = settled.into_iter().map(|(rest, mut draft)| {
            let this = &self;
            async move { drop(this.ask(&mut draft, (Way::Settle, now), &rest).await) }
        });
        join_all(each).await;
    }

    /// Tells all homes to keep what they hold.
    async fn confirm(&self, parts: Vec<(Draft, Told)>, now: Timestamp) {
        let drafts = parts.into_iter().map(|(draft, _)| draft).collect();
        let this = self.clone();
        aside(async move {
            drop(this.ask_all(drafts, (Way::Settle, now), &KEEP).await);
        })
        .await;
    }

    /// What each home holds under that id, where its own counters are.
    fn parts(&self, plan: &Plan, seats: &[Seat], id: Ticket) -> Held {
        let mut drafts = self.drafts(plan, seats);
        for draft in &mut drafts {
            let tag = draft.indices.first().map(|index| seats[usize::from(*index)].tag);
            draft.hold = id;
            draft.record = tag.map(|tag| self.names.record(tag, id));
        }
        Held::new(drafts, true)
    }
}

/// Does something that nobody waits for, if there is somebody to do it meanwhile.
async fn aside(work: impl Future<Output = ()> + Send + 'static) {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn(work)),
        Err(_) => work.await,
    }
}

/// What settling is told to keep everything.
const KEEP: [u8; 2] = [2, 0];

impl Heard {
    fn missed(&mut self, draft: Draft, error: StoreError) {
        if matches!(error, StoreError::Unavailable { maybe_charged: true, .. }) {
            self.silent.push(draft);
        }
        self.error = Some(match error {
            // Whatever was charged comes back.
            StoreError::Unavailable { shard, kind, .. } => {
                StoreError::Unavailable { shard, kind, maybe_charged: false }
            }
            other => other,
        });
    }

    /// Whether the first group passed everywhere.
    fn passed(&self, plan: &Plan) -> bool {
        self.error.is_none() && self.held(plan).count() == self.parts.len()
    }

    /// The parts of which the first group passed.
    fn held(&self, plan: &Plan) -> impl Iterator<Item = &Draft> {
        let is_first = |index: &u8| plan.get(usize::from(*index)).group == 0;
        let passed = move |(draft, told): &&(Draft, Told)| {
            let mut first = draft.indices.iter().zip(&told.charges).filter(|(index, _)| is_first(index));
            first.all(|(_, told)| told.verdict.allowed())
        };
        self.parts.iter().filter(passed).map(|(draft, _)| draft)
    }

    fn told(&self, plan: &Plan) -> Result<Told, StoreError> {
        joined(plan, &self.parts)
    }
}

fn joined(plan: &Plan, parts: &[(Draft, Told)]) -> Result<Told, StoreError> {
    let parts: Vec<_> = parts.iter().map(|(draft, told)| (draft.indices.as_slice(), told)).collect();
    Told::joined(plan, &parts).ok_or_else(garbled)
}
