//! Circuits against the plain words of their rules.

use proptest::prelude::*;

use super::{Breaker, Circuit, Ending, Pass, Tolerance};
use crate::Timestamp;

fn at(us: u64) -> Timestamp {
    Timestamp::from_micros(us)
}

fn breaker() -> Breaker {
    Breaker::new(Tolerance::default())
}

/// Calls that end one after another, and what the circuit is then.
fn after(endings: &[Ending]) -> Circuit {
    let mut breaker = breaker();
    for &ending in endings {
        let Some(pass) = breaker.admit(at(0)) else { break };
        breaker.end(pass, ending, at(0));
    }
    breaker.circuit()
}

fn opened() -> Breaker {
    let mut breaker = breaker();
    for _ in 0..5 {
        let pass = breaker.admit(at(0)).unwrap();
        breaker.end(pass, Ending::TimedOut, at(0));
    }
    breaker
}

#[test]
fn five_timeouts_in_a_row_open_it() {
    assert_eq!(after(&[Ending::TimedOut; 4]), Circuit::Closed);
    assert_eq!(after(&[Ending::TimedOut; 5]), Circuit::Open);
}

#[test]
fn an_answer_between_timeouts_keeps_it_closed() {
    let mut endings = vec![Ending::TimedOut; 4];
    endings.push(Ending::Answered);
    endings.extend([Ending::TimedOut; 4]);
    assert_eq!(after(&endings), Circuit::Closed);
}

#[test]
fn half_of_twenty_failures_open_it_and_fewer_do_not() {
    let mixed = |failed: usize| -> Vec<Ending> {
        (0..20).map(|index| if index < failed { Ending::Failed } else { Ending::Answered }).collect()
    };
    assert_eq!(after(&mixed(9)), Circuit::Closed);
    assert_eq!(after(&mixed(10)), Circuit::Open);
    assert_eq!(after(&[Ending::Failed; 19]), Circuit::Closed);
}

#[test]
fn failures_of_an_earlier_second_do_not_count() {
    let mut breaker = breaker();
    for index in 0..40 {
        let now = at(index / 10 * 1_000_000);
        let pass = breaker.admit(now).unwrap();
        breaker.end(pass, Ending::Failed, now);
    }
    assert_eq!(breaker.circuit(), Circuit::Closed);
}

#[test]
fn one_call_tries_after_the_cooldown_and_others_wait_for_it() {
    let mut breaker = opened();
    assert_eq!(breaker.admit(at(499_999)), None);
    let probe = breaker.admit(at(500_000)).unwrap();
    assert_eq!(breaker.circuit(), Circuit::HalfOpen);
    assert_eq!(breaker.admit(at(10_000_000)), None);
    breaker.end(probe, Ending::TimedOut, at(600_000));
    assert_eq!(breaker.admit(at(1_099_999)), None);
    let probe = breaker.admit(at(1_100_000)).unwrap();
    breaker.end(probe, Ending::Answered, at(1_100_001));
    assert_eq!(breaker.circuit(), Circuit::Closed);
}

#[test]
fn a_try_that_nobody_waited_for_leaves_room_for_the_next() {
    let mut breaker = opened();
    let probe = breaker.admit(at(500_000)).unwrap();
    breaker.end(probe, Ending::Unknown, at(500_001));
    assert!(breaker.admit(at(500_001)).is_some());
}

#[test]
fn hope_ends_the_cooldown_and_nothing_else() {
    let mut breaker = opened();
    breaker.hope(at(7));
    let probe = breaker.admit(at(7)).unwrap();
    breaker.hope(at(8));
    assert_eq!(breaker.admit(at(8)), None);
    breaker.end(probe, Ending::Failed, at(9));
    assert_eq!(breaker.admit(at(10)), None);
}

#[test]
fn calls_from_before_it_opened_change_nothing_after() {
    let mut breaker = breaker();
    let early = breaker.admit(at(0)).unwrap();
    for _ in 0..5 {
        let pass = breaker.admit(at(0)).unwrap();
        breaker.end(pass, Ending::TimedOut, at(0));
    }
    breaker.end(early, Ending::Answered, at(1));
    assert_eq!(breaker.circuit(), Circuit::Open);
    let probe = breaker.admit(at(500_000)).unwrap();
    breaker.end(early, Ending::Answered, at(500_001));
    assert_eq!(breaker.circuit(), Circuit::HalfOpen);
    breaker.end(probe, Ending::Answered, at(500_002));
    assert_eq!(breaker.circuit(), Circuit::Closed);
}

/// A circuit as its rules say it, with all its history.
#[derive(Default)]
struct Oracle {
    history: Vec<(u64, Ending)>,
    resting_until: Option<u64>,
    trying: bool,
}

impl Oracle {
    fn admits(&mut self, now: u64) -> bool {
        match self.resting_until {
            None => true,
            Some(until) if until <= now && !self.trying => {
                self.trying = true;
                true
            }
            Some(_) => false,
        }
    }

    fn end(&mut self, ending: Ending, now: u64) {
        if std::mem::take(&mut self.trying) {
            self.history.clear();
            self.resting_until = match ending {
                Ending::Answered => None,
                Ending::Unknown => Some(now),
                Ending::Failed | Ending::TimedOut => Some(now + 500_000),
            };
        } else if ending != Ending::Unknown {
            self.history.push((now, ending));
            if self.has_had_enough(now) {
                self.history.clear();
                self.resting_until = Some(now + 500_000);
            }
        }
    }

    fn has_had_enough(&self, now: u64) -> bool {
        let in_a_row =
            self.history.iter().rev().take_while(|(_, ending)| *ending == Ending::TimedOut).count();
        let recent: Vec<_> =
            self.history.iter().filter(|(when, _)| when / 100_000 + 10 > now / 100_000).collect();
        let failed = recent.iter().filter(|(_, ending)| *ending != Ending::Answered).count();
        in_a_row >= 5 || (recent.len() >= 20 && 2 * failed >= recent.len())
    }
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        6 => Just(Ending::Answered),
        4 => Just(Ending::Failed),
        4 => Just(Ending::TimedOut),
        1 => Just(Ending::Unknown),
    ]
}

proptest! {
    /// One call after another, with any pauses between: admitted and refused as the rules say.
    #[test]
    fn does_what_the_rules_say(history in prop::collection::vec((0_u64..200_000, ending()), 0..300)) {
        let (mut breaker, mut oracle, mut now) = (breaker(), Oracle::default(), 0);
        for (pause, ending) in history {
            now += pause;
            let pass = breaker.admit(at(now));
            prop_assert_eq!(pass.is_some(), oracle.admits(now));
            if let Some(pass) = pass {
                breaker.end(pass, ending, at(now));
                oracle.end(ending, now);
            }
        }
    }

    /// Calls that overlap in any way: while it is not closed, at most one is out to try, and nobody is shut out for ever.
    #[test]
    fn at_most_one_is_out_to_try(steps in prop::collection::vec((0_u64..300_000, any::<bool>(), any::<prop::sample::Index>(), ending()), 0..300)) {
        let (mut breaker, mut now) = (breaker(), 0);
        let mut out: Vec<(Pass, bool)> = Vec::new();
        for (pause, asks, which, ending) in steps {
            now += pause;
            if asks || out.is_empty() {
                let was = breaker.circuit();
                if let Some(pass) = breaker.admit(at(now)) {
                    let tries = was != Circuit::Closed;
                    prop_assert!(!(tries && breaker.circuit() != Circuit::HalfOpen));
                    out.push((pass, tries));
                }
            } else {
                let (pass, _) = out.swap_remove(which.index(out.len()));
                breaker.end(pass, ending, at(now));
            }
            prop_assert!(out.iter().filter(|(_, tries)| *tries).count() <= 1);
        }
        for (pass, _) in out {
            breaker.end(pass, Ending::Unknown, at(now));
        }
        prop_assert!(breaker.admit(at(now + 500_000)).is_some());
    }
}
