//! Tickets that are used again: what a node remembers of one is not what another has written down since.

use tidegate_core::{Key, Limit, Plan, Ticket, Timestamp};
use tidegate_redis::{Call, CallError, Caller, Clock, Redis, Settings};
use tidegate_store::{AtEnd, Hold, Settlement, Store as _, StoreError};

use crate::server::{Server, wait};

const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_123);
const HOLD: Hold = Hold { term_us: 5_000_000, at_end: AtEnd::Keep };
const FINGERPRINT: usize = 8;

/// A server whose homes are neighbours or not.
#[derive(Clone)]
struct Homes(Server, bool);

impl Caller for Homes {
    async fn call(&self, call: Call) -> Result<redis::Value, CallError> {
        self.0.call(call).await
    }

    fn are_neighbours(&self, _: &[u8], _: &[u8]) -> bool {
        self.1
    }
}

type Node = Redis<Homes>;

fn settings() -> Settings {
    Settings { prefix: Server::prefix(), clock: Clock::Given, ..Settings::default() }
}

fn limit() -> Limit {
    Limit::sliding_log(10, std::time::Duration::from_secs(60)).unwrap()
}

/// A plan with a home for each of these names.
fn plan(names: &[&str], cost: u64) -> Plan {
    let mut plan = Plan::new();
    plan.set_ticket(Ticket(1));
    for name in names {
        plan.charge(Key { home: &[name.as_bytes()], own: &[b"limit"] }, limit(), cost).unwrap();
    }
    plan
}

fn reserve(node: &Node, plan: &Plan) -> Result<bool, StoreError> {
    wait(node.reserve(plan, HOLD, START)).map(|answer| answer.allowed())
}

fn left(node: &Node, name: &str) -> u64 {
    wait(node.read(&plan(&[name], 1), START)).unwrap().verdicts[0].remaining
}

fn is_settled(settlement: &Result<Settlement, StoreError>) -> bool {
    matches!(settlement, Ok(Settlement::Settled(_)))
}

#[test]
fn what_another_node_reserved_since_is_what_is_settled() {
    let server = Server::redis();
    for neighbours in [true, false] {
        let uses: [(&[&str], &[&str], u64); 5] = [
            (&["a"], &["b"], 3),
            (&["a"], &["a"], 4),
            (&["a"], &["a", "b"], 3),
            (&["a", "b"], &["b", "c"], 3),
            (&["a", "b"], &["c", "d"], 3),
        ];
        for (first, second, cost) in uses {
            let settings = settings();
            let node = || Redis::new(Homes(server.clone(), neighbours), &settings);
            let (one, other) = (node(), node());
            assert_eq!(reserve(&one, &plan(first, 3)), Ok(true));
            assert_eq!(reserve(&other, &plan(second, cost)), Err(StoreError::TicketTaken));
            assert!(is_settled(&wait(other.cancel(Ticket(1), START))));
            assert_eq!(reserve(&other, &plan(second, cost)), Ok(true));
            let costs = vec![1; second.len()];
            let settled = wait(one.commit(Ticket(1), &costs, START));
            assert!(is_settled(&settled), "{first:?}, then {second:?}: {settled:?}");
            for name in ["a", "b", "c", "d"] {
                let left_now = if second.contains(&name) { 9 } else { 10 };
                assert_eq!(left(&one, name), left_now, "{name} of {first:?}, then {second:?}");
            }
            assert_eq!(wait(other.cancel(Ticket(1), START)), Ok(Settlement::Gone));
        }
    }
}

#[test]
fn a_record_of_a_node_that_writes_no_fingerprint_is_settled() {
    let (server, settings) = (Server::redis(), settings());
    for neighbours in [true, false] {
        let one = Redis::new(Homes(server.clone(), neighbours), &settings);
        assert_eq!(reserve(&one, &plan(&["a", "b"], 3)), Ok(true));
        for (key, value, _) in server.written(&settings.prefix).iter().filter(|(key, ..)| key.ends_with('r'))
        {
            let before = &value[..value.len() - FINGERPRINT];
            server.send::<()>(redis::cmd("SET").arg(key).arg(before).arg("KEEPTTL").take());
        }
        assert!(is_settled(&wait(one.cancel(Ticket(1), START))));
        assert_eq!([left(&one, "a"), left(&one, "b")], [10, 10]);
    }
}
