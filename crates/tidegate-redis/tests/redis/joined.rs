//! Checks that are joined: one call of the lean script for all of them, in their order, beside the reference store.

use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use proptest::prelude::*;
use smallvec::SmallVec;
use tidegate_core::{Key, Plan, State, Timestamp};
use tidegate_redis::{Call, CallError, Caller, Clock, Redis, Settings, told};
use tidegate_store::{Reference, Store as _};
use tokio::sync::oneshot;

use crate::history::{config, limit};
use crate::server::{Server, wait};

const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_123);

/// Kinds of limits that the lean script knows, with windows under and over an hour.
const COMMON: [usize; 8] = [0, 1, 2, 3, 4, 5, 7, 12];

/// Checks that come at once, a while after those before them.
#[derive(Clone, Debug)]
struct Crowd {
    pause_us: u64,
    checks: Vec<Vec<Asked>>,
}

#[derive(Clone, Debug)]
struct Asked {
    kind: usize,
    entity: u8,
    cost: u64,
    numbers: usize,
}

fn crowds() -> impl Strategy<Value = Vec<Crowd>> {
    let numbers = prop_oneof![4 => Just(0_usize), 2 => Just(1_usize), 1 => Just(2_usize)];
    let asked = (prop::sample::select(&COMMON[..]), 0..3_u8, 1..3_u64, numbers)
        .prop_map(|(kind, entity, cost, numbers)| Asked { kind, entity, cost, numbers });
    // The same checks again and again, as traffic is: then only the first is told.
    let checks = (prop::collection::vec(prop::collection::vec(asked, 1..6), 1..4), 2..20_usize)
        .prop_flat_map(|(kinds, many)| prop::collection::vec(prop::sample::select(kinds), many));
    let pause = prop_oneof![4 => Just(0), 8 => 0..3_000_000_u64, 2 => 0..7_200_000_000_u64];
    let crowd = (pause, checks).prop_map(|(pause_us, checks)| Crowd { pause_us, checks });
    prop::collection::vec(crowd, 1..12)
}

fn plan(check: &[Asked]) -> Plan {
    let mut plan = Plan::new();
    for (index, asked) in check.iter().enumerate() {
        // A counter that is asked for twice makes a check an uncommon one.
        if check[..index].iter().any(|other| (other.kind, other.entity) == (asked.kind, asked.entity)) {
            continue;
        }
        let kind = u8::try_from(asked.kind).unwrap();
        let key = Key { home: &[&[asked.entity]], own: &[&[kind], b"bob"] };
        plan.charge(key, limit(asked.kind, asked.numbers), asked.cost).unwrap();
    }
    plan
}

fn compare(server: &Server, crowds: &[Crowd]) -> Result<(), TestCaseError> {
    let settings = Settings { prefix: Server::prefix(), clock: Clock::Given, ..Settings::default() };
    let joining = Joining { server: server.clone(), waiting: Arc::default() };
    let (redis, alone) = (Redis::new(joining, &settings), Redis::new(server.clone(), &settings));
    let (reference, mut now) = (Reference::new(), START);
    for crowd in crowds {
        now = now.plus_us(crowd.pause_us);
        let plans: Vec<Plan> = crowd.checks.iter().map(|check| plan(check)).collect();
        redis.caller().expect(plans.len());
        let answers = wait(join_all(plans.iter().map(|plan| redis.decide(plan, now))));
        for (plan, answer) in plans.iter().zip(answers) {
            prop_assert_eq!(answer, reference.decide_now(plan, now), "{:?}", crowd);
        }
        for charge in plans.iter().flat_map(Plan::charges) {
            let ours = wait(alone.state(charge.key, charge.limit)).unwrap();
            let counts = |state: &State| state.empty_at() > now;
            let theirs = reference.state(charge.key);
            prop_assert_eq!(Some(ours).filter(counts), Some(theirs).filter(counts), "{:?}", charge.limit);
        }
    }
    Ok(())
}

#[test]
fn joined_checks_are_decided_one_after_another_as_the_reference_store_does() {
    for server in [Server::redis(), Server::valkey()] {
        proptest!(config(), |(history in crowds())| compare(&server, &history)?);
    }
}

#[test]
fn by_the_servers_clock_the_time_is_told_once_for_all() {
    let server = Server::redis();
    let joining = Joining { server: server.clone(), waiting: Arc::default() };
    let store = Redis::new(joining, &Settings::default());
    let check = |entity| vec![Asked { kind: 3, entity, cost: 2, numbers: 0 }];
    let plans = [plan(&check(0)), plan(&check(1)), plan(&check(0)), plan(&check(0))];
    store.caller().expect(plans.len());
    let answers = wait(join_all(plans.iter().map(|plan| store.decide(plan, Timestamp::ZERO))));
    let told: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.unwrap())
        .map(|answer| (answer.allowed(), answer.verdicts[0].remaining))
        .collect();
    assert_eq!(told, [(true, 3), (true, 3), (true, 1), (false, 1)]);
}

/// Waits for so many calls and sends them as one, as the client writes it.
#[derive(Clone)]
struct Joining {
    server: Server,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    expected: usize,
    calls: Vec<(Call, oneshot::Sender<redis::Value>)>,
}

impl Caller for Joining {
    async fn call(&self, call: Call) -> Result<redis::Value, CallError> {
        assert!(call.script.joins, "a common check is asked of the general script");
        let (give, take) = oneshot::channel();
        let all = {
            let mut waiting = self.waiting.lock().unwrap();
            waiting.calls.push((call, give));
            (waiting.calls.len() == waiting.expected).then(|| std::mem::take(&mut waiting.calls))
        };
        if let Some(all) = all {
            self.send(all).await?;
        }
        Ok(take.await.unwrap())
    }

    fn are_neighbours(&self, _: &[u8], _: &[u8]) -> bool {
        true
    }
}

impl Joining {
    fn expect(&self, calls: usize) {
        self.waiting.lock().unwrap().expected = calls;
    }

    async fn send(&self, all: Vec<(Call, oneshot::Sender<redis::Value>)>) -> Result<(), CallError> {
        let keys = all.iter().flat_map(|(call, _)| call.keys.clone()).collect();
        let arguments: SmallVec<[Vec<u8>; 1]> =
            told(all.iter().map(|(call, _)| call)).map(<[u8]>::to_vec).collect();
        let told = arguments.len();
        let joined = Call::new(all[0].0.script, keys, arguments);
        let redis::Value::Array(mut replies) = self.server.call(joined).await? else { panic!("no array") };
        let time = replies.split_off(told);
        let mut replies = replies.into_iter();
        for (call, give) in all {
            let own = replies.by_ref().take(call.arguments.len()).chain(time.clone());
            give.send(redis::Value::Array(own.collect())).unwrap();
        }
        Ok(())
    }
}
