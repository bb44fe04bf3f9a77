//! A million checks from several threads while rules are replaced every 50 ms of their time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::scope;

use super::*;
use tidegate_store::history::{Claims, Event, Follower, What};
use tidegate_store::{Act, Done, StoreError};

/// A store that is followed by the history checker: each decision is replayed through core as it is made.
struct Followed {
    store: Memory,
    follower: Mutex<Follower>,
}

impl Store for Followed {
    async fn run(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
        let Act::Decide(plan) = act else { return self.store.run_now(act, now) };
        let mut follower = self.follower.lock().expect("no thread panics");
        let answer = self.store.decide_now(plan, now)?;
        let event = Event { now, plan: plan.clone(), what: What::Decided(answer.clone()) };
        follower.event(&event).unwrap_or_else(|violation| panic!("{violation}"));
        Ok(answer.into())
    }
}

const CHECKS: u64 = 1_000_000;
const THREADS: u64 = 2;
/// Ten checks to a millisecond.
const STEP_US: u64 = 100;
const RELOAD_EVERY_US: u64 = 50_000;

/// Two limits that change together, so that half of a change would show.
fn rules(version: u64) -> String {
    let amount = 50 + version % 7;
    format!(
        "rules:
  - {{ name: per-user, by: [user], limit: {amount}/s }}
  - {{ name: orders, match: {{ path: '/orders/**' }}, by: [user], limits: [{amount}/min burst 20, {}/h], count_refused: true }}
  - {{ name: trial, mode: shadow, limit: {amount}/s }}
  - {{ name: login, match: {{ path: /login }}, by: [user], limit: {}/min, block_for: 10s }}",
        1000 + amount,
        amount / 10,
    )
}

#[test]
fn a_million_checks_under_reloads_are_all_right() {
    let store = Followed { store: Memory::new(), follower: Mutex::new(Follower::new(Claims::default())) };
    let way = Way::over(store, &rules(1));
    let (asked, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let clock = || START.plus_us(asked.load(SeqCst) * STEP_US);
    let reloads = scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| ask(&way, &asked))).collect();
        let reloads = scope.spawn(|| {
            let mut reloads = 0_u64;
            while !done.load(SeqCst) {
                let due = (clock().as_micros() - START.as_micros()) / RELOAD_EVERY_US;
                if due > reloads {
                    reloads += 1;
                    way.install(&rules(reloads + 1));
                } else {
                    std::thread::yield_now();
                }
            }
            reloads
        });
        let checks: u64 = threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum();
        done.store(true, SeqCst);
        assert_eq!(checks, CHECKS);
        reloads.join().expect("no thread panics")
    });
    assert_eq!(way.engine.observed().panics(), 0, "the follower found no fault");
    let checked = way.engine.store().follower.lock().expect("no thread panics").checked();
    assert_eq!(checked.decisions as u64, CHECKS);
    assert!(checked.admitted > 1_000 && checked.admitted < checked.decisions);
    assert!(reloads > 100, "{reloads} reloads");
}

fn ask(way: &Way<Followed>, asked: &AtomicU64) -> u64 {
    let (mut count, mut last_version) = (0, 0);
    loop {
        let number = asked.fetch_add(1, SeqCst);
        if number >= CHECKS {
            return count;
        }
        let user = format!("user-{}", number * 7_919 % 100);
        let path = ["/orders/1", "/login", "/x"][(number % 3) as usize];
        let check = Check { attributes: &[("user", &user), ("path", path)], ..Check::new("api") };
        let decision =
            wait(way.engine.check(&check, START.plus_us(number * STEP_US))).expect("a sound check");
        assert!(decision.version >= last_version, "rules never go back");
        last_version = decision.version;
        let amount = 50 + decision.version % 7;
        for view in decision.limits() {
            let expected = match view.policy() {
                "per-user" | "trial" => amount,
                "orders:min" => 20,
                "orders:h" => 1000 + amount,
                "login" => amount / 10,
                other => panic!("no such limit: {other}"),
            };
            assert_eq!(view.verdict.limit, expected, "a check sees one version, whole");
        }
        count += 1;
    }
}
