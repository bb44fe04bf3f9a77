//! The format of values, version 1, as bytes: what is written today, what was written once, and what a later version may write.

use std::fmt::Write as _;

use tidegate_core::{Idempotency, Key, Limit, Plan, Ticket, Timestamp};
use tidegate_redis::{Clock, Redis, Settings};
use tidegate_store::{AtEnd, Hold, Reference, Store as _, StoreError};

use crate::history::limit;
use crate::server::{Server, wait};

const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_123);

/// Costs and pauses before them, in microseconds.
const CHARGES: [(u64, u64); 3] = [(0, 2), (100_000, 1), (700_001, 2)];

/// Limits of each kind of entry and value with their numbers, how many times the costs above are charged, and what that leaves. An
/// entry's id, which is a hash, is zero here.
const WRITTEN: [(&str, (usize, usize), u64, &str); 12] = [
    ("small meter", (0, 0), 1, "01030000000001030000a50c30dafe5b06020041420f0000"),
    (
        "large meter",
        (11, 3),
        20_000_000,
        "01000000000002005a62020000007c1532dafe5b060000000000000081a20100000000",
    ),
    ("small aligned window", (3, 0), 1, "0115000000000305000000d876aafe5b0600a493d6000000"),
    ("small window from the first hit", (12, 0), 1, "010500000000030500007be025dafe5b0680969800000000"),
    ("large window", (12, 3), 20_000_000, "0100000000000400e1f5050000007be025dafe5b0680969800000000"),
    ("calendar", (13, 0), 1, "0101000000000305000000d876aafe5b06004827ad010000"),
    ("small sliding window", (7, 0), 1, "0103000000000505000000e025dafe5b0600000040420f00"),
    (
        "large sliding window",
        (7, 3),
        20_000_000,
        "0100000000000600e025dafe5b0640420f000000000200e1f50500000000000000000000",
    ),
    (
        "sliding window in parts",
        (6, 0),
        1,
        "01000000000006b05131dafe5b0690d00300000000050200000000000000000000000000000000000000000300000000000000000000000000",
    ),
    (
        "log apart",
        (8, 0),
        1,
        "0100000000000000007ae025dafe5b06809698000000007be025dafe5b06020000000000001b6727dafe5b06030000000000007c1532dafe5b0605000000000000",
    ),
    (
        "log with a precision apart",
        (9, 0),
        1,
        "0100000000000000007ae025dafe5b0640420f000000007be025dafe5b06020000000000007c1532dafe5b0605000000000000",
    ),
    (
        "slots apart",
        (10, 0),
        1,
        "01007c1532dafe5b067b0d57dbfe5b0602000000000000000000000000000000000000000000011b9458dbfe5b0601000000000000000000000000000000000000000000027c4263dbfe5b060200000000000000000000000000000000000000000003",
    ),
];

fn settings() -> Settings {
    Settings { prefix: Server::prefix(), clock: Clock::Given, ..Settings::default() }
}

fn charge(limit: Limit, cost: u64, ticket: u64) -> Plan {
    let mut plan = Plan::new();
    plan.charge(Key { home: &[b"home"], own: &[b"limit", b"bob"] }, limit, cost).unwrap();
    plan.set_ticket(Ticket(ticket.into()));
    plan
}

/// The only value there is, and its key.
fn only(server: &Server, settings: &Settings) -> (String, Vec<u8>) {
    let [(key, value, _)] = <[_; 1]>::try_from(server.written(&settings.prefix)).unwrap();
    (key, value)
}

/// With another id in place of that of a packed value's first entry.
fn with_id(mut value: Vec<u8>, is_packed: bool, id: [u8; 4]) -> Vec<u8> {
    if is_packed {
        value[2..6].copy_from_slice(&id);
    }
    value
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

#[test]
fn values_are_written_as_version_1_has_them_and_read_as_they_were_meant() {
    let server = Server::redis();
    for (name, (kind, numbers), times, expected) in WRITTEN {
        let (settings, limit) = (settings(), limit(kind, numbers));
        let (store, reference) = (Redis::new(server.clone(), &settings), Reference::new());
        let mut now = START;
        for (ticket, (pause_us, cost)) in (1..).zip(CHARGES) {
            now = now.plus_us(pause_us);
            let plan = charge(limit, cost * times, ticket);
            assert_eq!(wait(store.decide(&plan, now)), reference.decide_now(&plan, now), "{name}");
        }
        let (key, value) = only(&server, &settings);
        let is_packed = !name.ends_with("apart");
        let id = value[2..6].try_into().unwrap();
        assert_eq!(hex(&with_id(value, is_packed, [0; 4])), expected, "{name}");

        // Somebody else wrote it, and this node never did.
        let written = with_id(bytes(expected), is_packed, id);
        server.send::<()>(redis::cmd("SET").arg(&key).arg(written).arg("KEEPTTL").take());
        let later = now.plus_us(50_000);
        let plan = charge(limit, 1, 9);
        let charged = plan.get(0);
        assert_eq!(wait(store.state(charged.key, charged.limit)), Ok(reference.state(charged.key)), "{name}");
        assert_eq!(wait(store.read(&plan, later)), reference.read_now(&plan, later), "{name}");
        assert_eq!(wait(store.decide(&plan, later)), reference.decide_now(&plan, later), "{name}");
    }
}

/// A plan with a counter in each kind of value, and a name.
fn all_kinds() -> Plan {
    let mut plan = Plan::new();
    for kind in [0, 5, 8, 10] {
        let key = Key { home: &[b"home"], own: &[&[u8::try_from(kind).unwrap()], b"bob"] };
        plan.charge(key, limit(kind, 0), 1).unwrap();
    }
    let key = Key { home: &[b"home"], own: &[b"request"] }.encode().unwrap();
    plan.set_idempotency(Idempotency { key, keep_us: 9_000_000, asked: None });
    plan.set_ticket(Ticket(7));
    plan
}

/// Whatever it is that a later version has written.
#[test]
fn a_value_of_a_newer_version_is_left_alone() {
    let (server, settings) = (Server::redis(), settings());
    let nodes = || Redis::new(server.clone(), &settings);
    let hold = Hold { term_us: 8_000_000, at_end: AtEnd::GiveBack };
    assert!(wait(nodes().reserve(&all_kinds(), hold, START)).unwrap().allowed());
    let written = server.written(&settings.prefix);
    assert_eq!(written.len(), 4 + 4 + 3, "values, their loans, and a name, a record and an index");
    for (key, value, _) in written {
        let newer = [&[2], &value[1..]].concat();
        let set = |value: &[u8]| {
            server.send::<()>(redis::cmd("SET").arg(&key).arg(value).arg("KEEPTTL").take());
        };
        set(&newer);
        let before = server.written(&settings.prefix);
        let delivered = wait(nodes().decide(&all_kinds(), START)).map(|_| ());
        let error = delivered.and_then(|()| wait(nodes().cancel(Ticket(7), START)).map(|_| ())).unwrap_err();
        let is_so =
            matches!(error, StoreError::Unavailable { kind: "newer_format", maybe_charged: false, .. });
        assert!(is_so, "{key}: {error}");
        assert_eq!(server.written(&settings.prefix), before, "{key}");
        set(&value);
    }
    assert!(wait(nodes().cancel(Ticket(7), START)).is_ok());
}

/// The common check has a short way of its own.
#[test]
fn a_common_check_leaves_a_newer_value_alone() {
    let (server, settings) = (Server::redis(), settings());
    let store = Redis::new(server.clone(), &settings);
    let plan = charge(limit(0, 0), 1, 1);
    assert!(wait(store.decide(&plan, START)).unwrap().allowed());
    let (key, _) = only(&server, &settings);
    let newer: &[u8] = &[2, 1, 3];
    server.send::<()>(redis::cmd("SET").arg(&key).arg(newer).take());
    for error in
        [wait(store.decide(&plan, START)).err(), wait(store.state(plan.get(0).key, plan.get(0).limit)).err()]
    {
        let is_so =
            matches!(error, Some(StoreError::Unavailable { kind: "newer_format", maybe_charged: false, .. }));
        assert!(is_so, "{error:?}");
    }
    assert_eq!(only(&server, &settings).1, newer);
}
