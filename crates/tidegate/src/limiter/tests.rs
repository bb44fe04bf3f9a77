use std::time::Duration;

use super::*;
use crate::{AtEnd, Limit, ManualClock, Rate, Settled, Window};

const MINUTE: Duration = Duration::from_secs(60);
const HOLD: Hold = Hold { term_us: 5_000_000, at_end: AtEnd::Keep };

fn limiter() -> (ManualClock, Limiter<ManualClock>) {
    let clock = ManualClock::new();
    (clock.clone(), Limiter::with_clock(clock))
}

fn log(name: &str, amount: u64) -> Rule {
    Rule::new(name, Limit::sliding_log(amount, MINUTE).unwrap()).unwrap()
}

fn room(slots: u64) -> Rule {
    Rule::new("room", Limit::concurrency(slots, MINUTE).unwrap()).unwrap()
}

#[test]
fn refuses_once_the_limit_is_spent_and_says_when_to_come_back() {
    let (clock, limiter) = limiter();
    let rule = log("per-user", 2);
    assert_eq!(limiter.check(&rule, "alice").unwrap().remaining(), 1);
    clock.advance(Duration::from_secs(10));
    assert_eq!(limiter.check(&rule, "alice").unwrap().remaining(), 0);
    let decision = limiter.check(&rule, "alice").unwrap();
    assert_eq!((decision.allowed(), decision.retry_after()), (false, Some(Duration::from_secs(50))));
    assert_eq!(decision.reset_after(), MINUTE);
    assert_eq!(decision.denied_by().collect::<Vec<_>>(), ["per-user"]);
    assert!(limiter.check(&rule, "bob").unwrap().allowed());
    clock.advance(Duration::from_secs(50));
    assert!(limiter.check(&rule, "alice").unwrap().allowed());
}

#[test]
fn several_rules_are_charged_together_or_not_at_all() {
    let (_, limiter) = limiter();
    let (narrow, wide) = (log("narrow", 1), log("wide", 10));
    let asks = [wide.on("k"), narrow.on("k")];
    assert!(limiter.check_all(&asks).unwrap().allowed());
    let refused = limiter.check_all(&asks).unwrap();
    assert_eq!(refused.denied_by().collect::<Vec<_>>(), ["narrow"]);
    assert_eq!(limiter.peek(&wide, "k").unwrap().remaining(), 9);
}

#[test]
fn a_request_that_costs_more_than_a_limit_can_never_pass() {
    let (_, limiter) = limiter();
    let rule = log("small", 5);
    let decision = limiter.check_all(&[rule.on("k").cost(6)]).unwrap();
    assert!(decision.can_never_pass());
    assert_eq!(decision.retry_after(), None);
}

#[test]
fn other_numbers_under_the_same_name_keep_what_was_counted() {
    let (_, limiter) = limiter();
    assert!(limiter.check_all(&[log("plan", 5).on("k").cost(5)]).unwrap().allowed());
    assert!(!limiter.check(&log("plan", 5), "k").unwrap().allowed());
    assert_eq!(limiter.check(&log("plan", 50), "k").unwrap().remaining(), 44);
    let hourly = Rule::new("plan", Limit::sliding_log(5, Duration::from_secs(3600)).unwrap()).unwrap();
    assert_eq!(limiter.check(&hourly, "k").unwrap().remaining(), 4, "another window is another limit");
}

#[test]
fn a_dropped_guard_gives_its_slot_back_even_in_a_panic() {
    let (_, limiter) = limiter();
    let room = room(1);
    let enter = || limiter.enter(&[room.on("k")]).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _guard = enter().admitted().unwrap();
        assert!(enter().into_result().is_err());
        panic!("the work failed");
    }));
    assert!(panicked.is_err());
    assert!(enter().admitted().is_some());
}

#[test]
fn a_guard_that_outlives_its_term_loses_the_slot_unless_renewed() {
    let (clock, limiter) = limiter();
    let room = room(1);
    let guard = limiter.enter(&[room.on("k")]).unwrap().admitted().unwrap();
    clock.advance(Duration::from_secs(59));
    assert!(guard.renew());
    clock.advance(Duration::from_secs(59));
    assert!(limiter.enter(&[room.on("k")]).unwrap().admitted().is_none());
    clock.advance(Duration::from_secs(1));
    let other = limiter.enter(&[room.on("k")]).unwrap().admitted();
    assert!(other.is_some() && !guard.renew());
    drop(guard);
    assert!(limiter.enter(&[room.on("k")]).unwrap().admitted().is_none(), "the other's slot was given back");
}

#[test]
fn entering_charges_the_other_rules_for_good() {
    let (_, limiter) = limiter();
    let (room, quota) = (room(1), log("quota", 10));
    let admission = limiter.enter(&[room.on("k"), quota.on("k")]).unwrap();
    assert_eq!(admission.decision().remaining(), 0);
    drop(admission);
    assert_eq!(limiter.peek(&quota, "k").unwrap().remaining(), 9);
    assert_eq!(limiter.peek(&room, "k").unwrap().remaining(), 1);
}

#[test]
fn a_commit_replaces_the_estimate_by_the_truth() {
    let (clock, limiter) = limiter();
    let tokens = log("tokens", 100);
    let reserve = |cost| limiter.reserve(&[tokens.on("k").cost(cost)], HOLD).unwrap().admitted();
    assert_eq!(reserve(60).unwrap().commit(20).unwrap(), Settled::Done { debt: 0 });
    assert_eq!(limiter.peek(&tokens, "k").unwrap().remaining(), 80);
    assert_eq!(reserve(80).unwrap().cancel(), Settled::Done { debt: 0 });
    assert!(reserve(81).is_none());
    assert_eq!(reserve(80).unwrap().commit(95).unwrap(), Settled::Done { debt: 15 });
    clock.advance(MINUTE);
    let late = reserve(10).unwrap();
    clock.advance(Duration::from_secs(5));
    assert_eq!(late.commit(1).unwrap(), Settled::Ended);
    assert_eq!(limiter.peek(&tokens, "k").unwrap().remaining(), 90, "an unsettled reservation stays spent");
}

#[test]
fn what_cannot_be_asked_says_what_to_do() {
    let (clock, limiter) = limiter();
    let bounds = tidegate_core::Bounds {
        start: clock.now(),
        end: clock.now().plus_us(1),
        next_end: clock.now().plus_us(2),
    };
    let calendar = Limit::fixed_window(1, Window::Calendar(bounds)).unwrap();
    let many: Vec<Rule> = (0..65).map(|n| log(&format!("r{n}"), 1)).collect();
    let asks: Vec<Ask<'_, '_>> = many.iter().map(|rule| rule.on("k")).collect();
    let cases: [(Error, &str); 6] = [
        (limiter.check(&room(1), "k").unwrap_err(), "use enter"),
        (limiter.check_all(&asks).unwrap_err(), "at most 64 limits"),
        (limiter.check(&log("r", 1), &vec![b'x'; 5000]).unwrap_err(), "count by something shorter"),
        (Rule::new("naïve", *log("r", 1).limit()).unwrap_err(), "must be 1 to 64 of"),
        (Rule::new("", *log("r", 1).limit()).unwrap_err(), "must be 1 to 64 of"),
        (Rule::new("monthly", calendar).unwrap_err(), "use an aligned window"),
    ];
    for (error, hint) in cases {
        assert!(error.to_string().contains(hint), "{error} does not say {hint:?}");
    }
}

#[test]
fn a_shaping_rule_says_how_long_to_hold_back() {
    let (_, limiter) = limiter();
    let rate = Rate::new(4, Duration::from_secs(1)).unwrap();
    let shape = Rule::new("shape", Limit::leaky_bucket_shaping(3, rate).unwrap()).unwrap();
    let delay_ms = || limiter.check(&shape, "k").unwrap().delay().as_millis();
    assert_eq!([delay_ms(), delay_ms(), delay_ms()], [0, 250, 500]);
    assert!(!limiter.check(&shape, "k").unwrap().allowed());
}

#[test]
fn resets_and_refunds_give_room() {
    let (_, limiter) = limiter();
    let rule = log("r", 3);
    assert!(limiter.check_all(&[rule.on("k").cost(3)]).unwrap().allowed());
    limiter.refund(&[rule.on("k").cost(2)]).unwrap();
    assert_eq!(limiter.peek(&rule, "k").unwrap().remaining(), 2);
    assert!(limiter.reset(&rule, "k").unwrap());
    assert!(!limiter.reset(&rule, "k").unwrap());
    assert_eq!(limiter.peek(&rule, "k").unwrap().remaining(), 3);
}

#[test]
fn a_clone_is_the_same_limiter_on_every_thread() {
    let (_, limiter) = limiter();
    let rule = log("r", 100);
    let admitted: usize = std::thread::scope(|scope| {
        let thread = || {
            let (limiter, rule) = (limiter.clone(), &rule);
            scope.spawn(move || (0..50).filter(|_| limiter.check(rule, "k").unwrap().allowed()).count())
        };
        let threads: Vec<_> = (0..4).map(|_| thread()).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(admitted, 100);
}
