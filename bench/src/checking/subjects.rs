//! What is asked: the store alone, engines over a store, what is the bench's own, and limitador.

use std::hint::black_box;
use std::marker::PhantomData;
use std::pin::pin;
use std::task::{Context as TaskContext, Poll, Waker};

use anyhow::{Context, Result, ensure};
use tidegate_core::{Plan, Timestamp};
use tidegate_engine::Engine;
use tidegate_rules::Snapshot;
use tidegate_store::{Reference, Store};

use super::requests::{Ask, Callers, Order, User, UserDescriptor};
use super::store::{Keeping, Nodding};
use super::{Asked, REQUESTS, START_US, rules};
use crate::engines::{Engine as _, Limitador, Setup};

/// Far above what any case needs: nothing may be dropped to keep a cap.
const CAP_BYTES: usize = 1 << 30;

pub(super) fn reference() -> Reference {
    Reference::with_cap(CAP_BYTES)
}

/// An engine, and how it is asked.
pub(super) struct Way<S, A> {
    engine: Engine<S>,
    callers: Callers,
    asks: PhantomData<A>,
}

pub(super) fn two_of_thousand<S: Store>(store: S) -> Result<Way<S, Order>> {
    let snapshot = rules::thousand()?;
    ensure!(snapshot.rules() == 1_000, "there are {} rules, not 1 000", snapshot.rules());
    Way::new(store, snapshot, 2)
}

pub(super) fn one_rule<S: Store>(store: S) -> Result<Way<S, User>> {
    Way::new(store, rules::one()?, 1)
}

pub(super) fn tree<S: Store>(store: S) -> Result<Way<S, UserDescriptor>> {
    Way::new(store, rules::tree()?, 1)
}

impl<S: Store, A: Ask> Way<S, A> {
    /// Fails unless every request is held to so many limits: a check that matches nothing is cheap.
    fn new(store: S, snapshot: Snapshot, limits: usize) -> Result<Self> {
        let engine = Engine::new(store);
        engine.install(snapshot);
        let way = Self { engine, callers: Callers::new(), asks: PhantomData };
        for request in 0..REQUESTS {
            let asked = A::with(way.callers.get(request), |check| {
                let decision = pin!(way.engine.check(check, Timestamp::from_micros(START_US)));
                match decision.poll(&mut at_once()) {
                    Poll::Ready(Ok(decision)) => Some(decision.limits().len()),
                    _ => None,
                }
            });
            ensure!(asked == Some(limits), "a request is held to {asked:?} limits, not {limits}");
        }
        Ok(way)
    }
}

impl<S: Store, A: Ask> Asked for Way<S, A> {
    #[inline(never)]
    fn ask(&self, request: usize, now: Timestamp) -> bool {
        A::with(self.callers.get(request), |check| {
            let decision = pin!(self.engine.check(check, now)).poll(&mut at_once());
            matches!(&decision, Poll::Ready(Ok(decision)) if decision.allowed())
        })
    }
}

/// The reference store by itself, with the very plans that the engine makes for the check of two rules.
pub(super) struct Step {
    store: Reference,
    plans: Vec<Plan>,
}

impl Step {
    pub(super) fn new() -> Result<Self> {
        Ok(Self { store: reference(), plans: plans_of_two()? })
    }
}

/// The plans that an engine makes for the check of two rules.
fn plans_of_two() -> Result<Vec<Plan>> {
    let way = two_of_thousand(Keeping::default())?;
    let plan = |request| {
        way.ask(request, Timestamp::from_micros(START_US));
        way.engine.store().take().context("the engine did not ask its store")
    };
    let plans: Vec<Plan> = (0..REQUESTS).map(plan).collect::<Result<_>>()?;
    ensure!(plans.iter().all(|plan| plan.len() == 2), "a plan has another number of charges than 2");
    Ok(plans)
}

impl Asked for Step {
    #[inline(never)]
    fn ask(&self, request: usize, now: Timestamp) -> bool {
        self.store.decide_now(&self.plans[request], now).is_ok_and(|answer| answer.allowed())
    }
}

/// What is left of a check without the engine: the request is put together, and the store that allows everything is asked
/// with the plan that the engine would make of it.
pub(super) struct Nod {
    callers: Callers,
    plans: Vec<Plan>,
}

impl Nod {
    pub(super) fn new() -> Result<Self> {
        Ok(Self { callers: Callers::new(), plans: plans_of_two()? })
    }
}

impl Asked for Nod {
    #[inline(never)]
    fn ask(&self, request: usize, now: Timestamp) -> bool {
        Order::with(self.callers.get(request), |check| {
            black_box(check);
            let answer = pin!(Nodding.decide(&self.plans[request], now)).poll(&mut at_once());
            matches!(&answer, Poll::Ready(Ok(answer)) if answer.allowed())
        })
    }
}

/// limitador, as the other parts ask it.
pub(super) struct Peer {
    limitador: Limitador<1>,
    callers: Callers,
}

impl Peer {
    pub(super) fn new() -> Result<Self> {
        let keys = u32::try_from(REQUESTS)?;
        Ok(Self {
            limitador: Limitador::new(Setup { burst: u32::MAX, every_s: 1, keys })?,
            callers: Callers::new(),
        })
    }
}

impl Asked for Peer {
    #[inline(never)]
    fn ask(&self, request: usize, _: Timestamp) -> bool {
        self.limitador.decide(self.callers.get(request))
    }
}

/// For futures that are ready when they are first asked, as all are here.
#[inline]
fn at_once() -> TaskContext<'static> {
    TaskContext::from_waker(Waker::noop())
}
