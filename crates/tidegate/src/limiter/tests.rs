use std::time::Duration;

use super::*;
use crate::{Limit, ManualClock, Rate, Settled, Window};

const MINUTE: Duration = Duration::from_secs(60);

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
fn signs_of_life_keep_a_slot() {
    let (clock, limiter) = limiter();
    let room = room(1);
    let mut guard = limiter.enter(&[room.on("k")]).unwrap().admitted().unwrap();
    for _ in 0..10 {
        clock.advance(Duration::from_secs(40));
        assert!(guard.renew_if_due());
    }
    assert!(limiter.enter(&[room.on("k")]).unwrap().admitted().is_none());
    clock.advance(MINUTE);
    assert!(!guard.renew_if_due(), "it had ended");
    let unlimited = log("quota", 5);
    assert!(
        limiter.enter(&[unlimited.on("k")]).unwrap().admitted().unwrap().renew_if_due(),
        "it holds no slot"
    );
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
    let reserve = |cost| {
        limiter
            .reserve(&[tokens.on("k").cost(cost)], Hold::lasting(Duration::from_secs(5)))
            .unwrap()
            .admitted()
    };
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
    let two = [log("r", 1), log("r", 2)];
    let cases: [(Error, &str); 7] = [
        (limiter.check(&room(1), "k").unwrap_err(), "use enter"),
        (limiter.refund(&[room(1).on("k")], clock.now()).unwrap_err(), "use enter"),
        (limiter.check_all(&[two[0].on("k"), two[1].on("k")]).unwrap_err(), "names of their own"),
        (limiter.check_all(&asks).unwrap_err(), "at most 64 limits"),
        (Rule::new("naïve", *log("r", 1).limit()).unwrap_err(), "must be 1 to 64 of"),
        (Rule::new("", *log("r", 1).limit()).unwrap_err(), "must be 1 to 64 of"),
        (Rule::new("monthly", calendar).unwrap_err(), "use an aligned window"),
    ];
    for (error, hint) in cases {
        assert!(error.to_string().contains(hint), "{error} does not say {hint:?}");
    }
}

#[test]
fn a_key_may_be_long() {
    let (_, limiter) = limiter();
    let (one, other) = ([b'x'; 10_000], [b'y'; 10_000]);
    let allowed = |key: &[u8]| limiter.check(&log("r", 1), key).unwrap().allowed();
    assert_eq!([allowed(&one), allowed(&other), allowed(&one)], [true, true, false]);
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
    let at = limiter.check_all(&[rule.on("k").cost(3)]).unwrap().at();
    limiter.refund(&[rule.on("k").cost(2)], at).unwrap();
    assert_eq!(limiter.peek(&rule, "k").unwrap().remaining(), 2);
    assert!(limiter.reset(&rule, "k").unwrap());
    assert!(!limiter.reset(&rule, "k").unwrap());
    assert_eq!(limiter.peek(&rule, "k").unwrap().remaining(), 3);
}

#[test]
fn a_refund_of_a_passed_window_gives_nothing() {
    let (clock, limiter) = limiter();
    let rule = Rule::new("r", Limit::fixed_window(10, Window::Aligned(MINUTE)).unwrap()).unwrap();
    let ask = || rule.on("k").cost(10);
    let first = limiter.check_all(&[ask()]).unwrap().at();
    clock.advance(MINUTE);
    assert!(limiter.check_all(&[ask()]).unwrap().allowed());
    limiter.refund(&[ask()], first).unwrap();
    assert_eq!(limiter.peek(&rule, "k").unwrap().remaining(), 0);
}

#[test]
fn of_several_refusals_the_longest_wait_counts_and_never_is_longest() {
    let (clock, limiter) = limiter();
    let (short, long) =
        (log("short", 1), Rule::new("long", Limit::sliding_log(1, MINUTE * 10).unwrap()).unwrap());
    assert!(limiter.check_all(&[short.on("k"), long.on("k")]).unwrap().allowed());
    clock.advance(Duration::from_secs(1));
    let refused = limiter.check_all(&[short.on("k"), long.on("k")]).unwrap();
    assert_eq!(refused.retry_after(), Some(Duration::from_secs(599)));
    assert_eq!(refused.reset_after(), Duration::from_secs(599));
    let never = limiter.check_all(&[short.on("k"), long.on("k").cost(2)]).unwrap();
    assert_eq!((never.retry_after(), never.can_never_pass()), (None, true));
}

#[test]
fn the_largest_debt_is_told() {
    let (_, limiter) = limiter();
    let (small, large) = (log("small", 10), log("large", 100));
    let hold = Hold::lasting(MINUTE);
    let held = limiter.reserve(&[small.on("k"), large.on("k")], hold).unwrap().admitted().unwrap();
    assert_eq!(held.commit(30).unwrap(), Settled::Done { debt: 20 });
}

#[test]
fn nothing_that_can_be_printed_shows_a_key() {
    let (_, limiter) = limiter();
    let (rule, room) = (log("r", 5), room(1));
    let secret = "sk_live_secret";
    let decision = limiter.check(&rule, secret).unwrap();
    let guard = limiter.enter(&[room.on(secret)]).unwrap();
    let bytes = format!("{:?}", secret.as_bytes());
    for shown in [
        format!("{:?}", rule.on(secret)),
        format!("{limiter:?}"),
        format!("{decision:?}"),
        format!("{guard:?}"),
    ] {
        assert!(!shown.contains("sk_live") && !shown.contains(&bytes[1..20]), "{shown}");
    }
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
