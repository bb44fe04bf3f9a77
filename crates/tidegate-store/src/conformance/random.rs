//! Random histories, seeded, judged by the history checker.

use std::sync::Mutex;
use std::thread::scope;

use tidegate_core::{Key, Pay, Plan, Ticket, Timestamp};

use super::{SECOND_US, START, decide, every_limit, gate, wait};
use crate::contract::Store;
use crate::history::{Claims, Event, Order, What, check};

/// How many seeds are tried, unless `TIDEGATE_SEEDS` says otherwise.
const SEEDS: u64 = 8;
const EVENTS: usize = 1_500;

/// A small generator (SplitMix64), so that a failure is a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[usize::try_from(self.below(items.len() as u64)).unwrap_or(0)]
    }

    /// Charges on a few keys of every algorithm; amounts change in the middle of a history, as a reload would do it.
    fn plan(&mut self, ticket: u64, amounts: &[u64]) -> Plan {
        let mut plan = Plan::new();
        plan.set_ticket(Ticket(u128::from(ticket)));
        let amount = self.one_of(amounts);
        for _ in 0..=self.below(4) {
            let pay = self.pay();
            let (name, limit) = match pay {
                Pay::IfRefused { .. } if self.below(2) == 0 => ("gate", gate()),
                _ => self.one_of(&every_limit(amount)),
            };
            let (key, cost) = (self.one_of(b"abc"), self.one_of(&[0, 1, 1, 1, 2, 3, 6]));
            let key = Key { home: &[&[key]], own: &[name.as_bytes()] };
            // What cannot be planned (a key that pays in two ways, a gate with nothing before it) is left out.
            plan.charge_when(key, limit, cost, pay).unwrap_or_default();
            if self.below(4) == 0 {
                plan.next_group();
            }
        }
        plan
    }

    fn pay(&mut self) -> Pay {
        let gate = Pay::IfRefused { of: self.one_of(&[1, 1, 2]) };
        let plain = Pay::IfAdmitted;
        self.one_of(&[plain, plain, plain, plain, plain, Pay::Always, Pay::Always, Pay::Never, gate, gate])
    }

    fn pause_us(&mut self) -> u64 {
        match self.below(8) {
            0..=3 => 0,
            4..=5 => self.below(2 * SECOND_US),
            6 => self.below(20 * SECOND_US),
            _ => self.below(150 * SECOND_US),
        }
    }
}

fn seeds() -> u64 {
    std::env::var("TIDEGATE_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(SEEDS)
}

/// One thread, all kinds of events, compared event by event.
pub(super) fn histories<S: Store>(make: &impl Fn() -> S, claims: Claims) {
    for seed in 1..=seeds() {
        let (store, mut random, mut now) = (make(), Random(seed), START);
        let (mut events, mut held): (Vec<Event>, Vec<(Timestamp, Plan)>) = (Vec::new(), Vec::new());
        for ticket in 0..EVENTS as u64 {
            now = now.plus_us(random.pause_us());
            let earlier = held.get(usize::try_from(random.below(64)).unwrap_or(0)).cloned();
            let event = match (random.below(12), earlier) {
                (0, Some((charged_at, plan))) => refund(&store, now, plan, charged_at),
                (1 | 2, Some((_, plan))) => release(&store, now, plan),
                (3, Some((_, plan))) => renew(&store, now, plan),
                (4, Some((_, plan))) if random.below(8) == 0 => reset(&store, now, plan),
                _ => {
                    let plan = random.plan(ticket, &[5, 5, 5, 7, 20]);
                    let answer = decide(&store, &plan, now);
                    if answer.allowed() {
                        held.insert(0, (now, plan.clone()));
                        held.truncate(64);
                    }
                    Event { now, plan, what: What::Decided(answer) }
                }
            };
            events.push(event);
        }
        judge(&events, Order::Sequence, claims, seed);
    }
}

fn refund(store: &impl Store, now: Timestamp, plan: Plan, charged_at: Timestamp) -> Event {
    wait(store.refund(&plan, charged_at, now)).expect("the store refunds");
    Event { now, plan, what: What::Refunded { charged_at } }
}

fn release(store: &impl Store, now: Timestamp, plan: Plan) -> Event {
    wait(store.release(&plan, now)).expect("the store releases");
    Event { now, plan, what: What::Released }
}

fn renew(store: &impl Store, now: Timestamp, plan: Plan) -> Event {
    wait(store.renew(&plan, now)).expect("the store renews");
    Event { now, plan, what: What::Renewed }
}

fn reset(store: &impl Store, now: Timestamp, plan: Plan) -> Event {
    wait(store.reset(&plan, now)).expect("the store resets");
    Event { now, plan, what: What::Reset }
}

/// Several threads, one instant after another: whatever the order within an instant, bounds hold. No way of paying is left
/// out: what a refusal pays depends on the order, but what all of an instant have paid does not.
pub(super) fn instants<S: Store>(make: &impl Fn() -> S, claims: Claims) {
    for seed in 1..=seeds() {
        let (store, events) = (make(), Mutex::new(Vec::new()));
        let mut clock = Random(seed);
        let mut now = START;
        for instant in 0..30 {
            now = now.plus_us(1 + clock.pause_us());
            let amount = clock.one_of(&[5, 5, 5, 7, 20]);
            scope(|scope| {
                for thread in 0..3 {
                    let (store, events) = (&store, &events);
                    scope.spawn(move || {
                        let mut random = Random(seed << 32 | instant << 8 | thread);
                        let mut mine = Vec::new();
                        for n in 0..10 {
                            let plan = random.plan(instant << 16 | thread << 8 | n, &[amount]);
                            let answer = decide(store, &plan, now);
                            mine.push(Event { now, plan, what: What::Decided(answer) });
                        }
                        events.lock().expect("no thread panics").append(&mut mine);
                    });
                }
            });
        }
        let events = events.into_inner().expect("no thread panics");
        judge(&events, Order::Instants, claims, seed);
    }
}

fn judge(events: &[Event], order: Order, claims: Claims, seed: u64) {
    match check(events, order, claims) {
        Ok(checked) => {
            assert!(
                checked.admitted > 0 && checked.admitted < checked.decisions,
                "seed {seed} shows nothing"
            );
        }
        Err(violation) => panic!("the store does not conform: {order:?}, seed {seed}: {violation}"),
    }
}
