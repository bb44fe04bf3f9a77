//! Any plan at all.

use std::time::Duration;

use tidegate_core::{Class, Idempotency, Key, Pay, Plan, Ticket};

use crate::headers::limit;
use crate::pieces::Pieces;

/// Names of which some are likely to come twice.
const NAMES: [&[u8]; 6] = [b"api", b"acme", b"per-user", b"alice", b"", b"\xff\0{x}"];

pub(super) fn made(pieces: &mut Pieces<'_>) -> Plan {
    let mut plan = Plan::new();
    plan.set_ticket(Ticket(u128::from(pieces.number())));
    plan.set_class(pieces.one_of(&[Class::Comfort, Class::Cost, Class::Security, Class::Strict]));
    if pieces.is_odd() {
        plan.set_patience(Duration::from_micros(pieces.number()));
    }
    if pieces.is_odd() {
        name(pieces, &mut plan);
    }
    for _ in 0..pieces.below(66) {
        if pieces.below(4) == 3 {
            plan.next_group();
        }
        charge(pieces, &mut plan);
        if pieces.is_empty() {
            break;
        }
    }
    plan
}

fn name(pieces: &mut Pieces<'_>, plan: &mut Plan) {
    let key = Key { home: &[name_of(pieces)], own: &[pieces.word()] };
    if let Ok(key) = key.encode() {
        let asked = pieces.is_odd().then(|| pieces.number());
        plan.set_idempotency(Idempotency { key, keep_us: pieces.number(), asked });
    }
}

/// A charge more, if it can stand beside the others: the same again, or another.
fn charge(pieces: &mut Pieces<'_>, plan: &mut Plan) {
    let (cost, pay) = (pieces.number(), pay(pieces));
    if pieces.below(8) == 7 && !plan.is_empty() {
        let mut with = plan.clone();
        let twin = plan.get(usize::from(pieces.byte()) % plan.len());
        if with.charge_when(twin.key, *twin.limit, cost, pay).is_ok() {
            *plan = with;
        }
        return;
    }
    let home: Vec<&[u8]> = (0..pieces.below(3)).map(|_| name_of(pieces)).collect();
    let own: Vec<&[u8]> = (0..pieces.below(4)).map(|_| name_of(pieces)).collect();
    if let Some(limit) = limit(pieces) {
        let _refused = plan.charge_when(Key { home: &home, own: &own }, limit, cost, pay).is_err();
    }
}

fn name_of<'b>(pieces: &mut Pieces<'b>) -> &'b [u8] {
    match pieces.below(8) {
        7 => pieces.word(),
        other => NAMES[usize::from(other) % NAMES.len()],
    }
}

fn pay(pieces: &mut Pieces<'_>) -> Pay {
    match pieces.below(8) {
        5 => Pay::Always,
        6 => Pay::Never,
        7 => Pay::IfRefused { of: pieces.below(3) },
        _ => Pay::IfAdmitted,
    }
}
