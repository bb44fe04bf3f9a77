//! What Redis is told and what it answers: a plan is read by the script as it was meant, and no reply and no value that is stored
//! makes a node fall over.

mod plan;
mod server;
mod general;
mod lean;

use std::time::Duration;

use tidegate_core::{Plan, Ticket};
use tidegate_redis::{Call, Clock, Heartbeat, Redis, Settings, scripts};
use tidegate_store::{Answer, AtEnd, Hold, Settlement, Store, StoreError};

use crate::pieces::Pieces;
use crate::world::{NOW, wait};
use server::Server;

pub(crate) fn run(bytes: &[u8]) {
    let mut pieces = Pieces::new(bytes);
    let clock = pieces.one_of(&[Clock::Server, Clock::Given]);
    let fronts_apart = if pieces.is_odd() { vec![vec![b"api".to_vec()]] } else { Vec::new() };
    let (way, is_one_server) = (pieces.byte(), pieces.is_odd());
    let plan = plan::made(&mut pieces);
    let server = Server::new(is_one_server, plan.len(), pieces.rest());
    let settings = Settings { clock, fronts_apart, ..Settings::default() };
    let store = Redis::new(server, &settings);
    go(&store, way, &plan);
    for (at, call) in store.caller().calls().iter().enumerate() {
        reads_as_meant(call, &plan, at == 0 && is_one_server);
    }
}

/// Goes one of the ways of a plan.
fn go(store: &Redis<Server>, way: u8, plan: &Plan) {
    let ticket = plan.ticket();
    match way % 10 {
        0 => answer_is_sound(plan, wait(store.decide(plan, NOW))),
        1 => answer_is_sound(plan, wait(store.read(plan, NOW))),
        2 => reserve_and_settle(store, plan, way),
        3 => settlement_is_sound(wait(store.commit(ticket, &costs(plan), NOW))),
        4 => settlement_is_sound(wait(store.cancel(ticket, NOW))),
        5 => drop(wait(store.release(plan, NOW))),
        6 => drop((wait(store.renew(plan, NOW)), wait(store.refund(plan, NOW, NOW)))),
        7 => drop((wait(store.raise(plan, NOW)), wait(store.reset(plan, NOW)))),
        8 => look_at_states(store, plan),
        _ => hear_of_others(store),
    }
}

fn costs(plan: &Plan) -> Vec<u64> {
    plan.charges().map(|charge| charge.cost).collect()
}

fn reserve_and_settle(store: &Redis<Server>, plan: &Plan, way: u8) {
    let at_end = if way < 128 { AtEnd::Keep } else { AtEnd::GiveBack };
    answer_is_sound(plan, wait(store.reserve(plan, Hold { term_us: u64::from(way) << 20, at_end }, NOW)));
    settlement_is_sound(wait(store.commit(plan.ticket(), &costs(plan), NOW)));
}

fn look_at_states(store: &Redis<Server>, plan: &Plan) {
    for charge in plan.charges() {
        if let Ok(state) = wait(store.state(charge.key, charge.limit)) {
            let mut written = Vec::new();
            state.write_to(&mut written);
            let outcome = charge.limit.judge(&state, NOW, charge.cost);
            let verdict = charge.limit.verdict(&state, NOW, outcome);
            assert!(verdict.remaining <= verdict.limit, "more is left than there is");
        }
    }
}

fn hear_of_others(store: &Redis<Server>) {
    let beat = Heartbeat { id: "a".to_owned(), told: "b".to_owned(), term: Duration::from_secs(9) };
    if let Ok(assembly) = wait(store.beat(&beat)) {
        assert!(assembly.members.is_sorted_by(|one, other| one.id <= other.id));
    }
}

/// As many verdicts as charges, or an admission that is given again.
fn answer_is_sound(plan: &Plan, answer: Result<Answer, StoreError>) {
    if let Ok(answer) = answer {
        assert!(answer.replayed || answer.verdicts.len() == plan.len(), "verdicts are missing");
        let _ = (answer.allowed(), answer.delay_us());
        assert!(answer.verdicts.iter().all(|verdict| verdict.remaining <= verdict.limit));
    }
}

fn settlement_is_sound(settlement: Result<Settlement, StoreError>) {
    if let Ok(Settlement::Settled(verdicts)) = settlement {
        assert!(verdicts.iter().all(|verdict| verdict.remaining <= verdict.limit));
    }
}

/// The argument, read as the script reads it, is the plan.
fn reads_as_meant(call: &Call, plan: &Plan, is_whole: bool) {
    assert!(!call.keys.is_empty() && call.keys.len() < 256, "{} keys", call.keys.len());
    let [lean, general, ..] = scripts() else { panic!("these scripts come first") };
    if std::ptr::eq(call.script, *lean) {
        lean::reads_as_meant(call, plan);
    } else if std::ptr::eq(call.script, *general) {
        let told = general::read(&call.arguments[0], call.keys.len());
        // What was read from the server is whatever was there.
        if is_whole {
            told.is_all_of(plan);
        } else if told.ticket == plan.ticket() && plan.ticket() != Ticket(0) {
            told.is_part_of(plan);
        }
    }
}
