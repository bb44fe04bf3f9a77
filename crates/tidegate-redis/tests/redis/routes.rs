//! Domains and tenants on servers of their own.

use std::time::Duration;

use tidegate_core::{Key, Limit, Plan, Ticket, Timestamp};
use tidegate_redis::{Redis, Routed, Settings};
use tidegate_store::{AtEnd, Hold, Settlement, Store as _};

use crate::server::{Server, wait};

fn charge(plan: &mut Plan, home: &[&[u8]]) {
    let limit = Limit::sliding_window(5, Duration::from_secs(3_600)).unwrap();
    plan.charge(Key { home, own: &[b"limit", b"bob"] }, limit, 1).unwrap();
}

fn one(home: &[&[u8]]) -> Plan {
    let mut plan = Plan::new();
    charge(&mut plan, home);
    plan
}

#[test]
fn a_domain_lives_on_its_own_server_and_a_tenant_of_it_on_another() {
    let [shared, domain, tenant] = std::array::from_fn(|_| Server::redis());
    let settings = Settings { fronts_apart: vec![vec![b"api".to_vec()]], ..Settings::default() };
    let mut routed = Routed::new(shared.clone());
    routed.route(&settings, [&[b"api".as_slice()][..]], domain.clone());
    routed.route(&settings, [&[b"api".as_slice(), b"acme"][..]], tenant.clone());
    let store = Redis::new(routed, &settings);
    let homes: [&[&[u8]]; 4] =
        [&[b"api", b"acme"], &[b"api", b"beta"], &[b"api", b"per-ip", b"10.0.0.1"], &[b"web", b"acme"]];
    for home in homes {
        assert!(wait(store.decide(&one(home), Timestamp::ZERO)).unwrap().allowed());
    }
    let keys = || [&shared, &domain, &tenant].map(|server| server.written("t:").len());
    assert_eq!(keys(), [1, 2, 1]);

    // What meets all of them is decided on all at once, and a reservation is settled wherever it holds something.
    let mut all = Plan::new();
    for home in homes {
        charge(&mut all, home);
    }
    all.set_ticket(Ticket(7));
    let hold = Hold { term_us: 60_000_000, at_end: AtEnd::GiveBack };
    assert!(wait(store.reserve(&all, hold, Timestamp::ZERO)).unwrap().allowed());
    assert!(matches!(wait(store.cancel(Ticket(7), Timestamp::ZERO)), Ok(Settlement::Settled(_))));
    assert!(wait(store.decide(&all, Timestamp::ZERO)).unwrap().allowed());
    for home in homes {
        assert_eq!(wait(store.read(&one(home), Timestamp::ZERO)).unwrap().verdicts[0].remaining, 3);
    }
}
