//! A flood of new keys against a small store: what was held to a limit stays so, and who comes in peace is let in.

use std::time::Duration;

use tidegate_core::{Key, Limit, Plan, Rate, Timestamp, Window};
use tidegate_store::{Memory, Reference};

const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);
const CAP: usize = 16 << 20;
const ROUND_US: u64 = 600_000_000;
const KEYS: u64 = 5_000_000;
const OFFENDERS: u64 = 2_000;

/// The limits that are attacked, each a rule with a share of its own.
fn limits() -> [Limit; 6] {
    let (second, minute, hour) =
        (Duration::from_secs(1), Duration::from_secs(60), Duration::from_secs(3_600));
    let limits = [
        Limit::gcra(Rate::new(10, second).unwrap(), 20),
        Limit::fixed_window(10, Window::Aligned(minute)),
        Limit::sliding_window(30, hour),
        Limit::token_bucket(12, Rate::new(1, minute).unwrap()),
        Limit::fixed_window(100_000_000_000, Window::FirstHit(hour)),
        Limit::sliding_window_in_parts(50, hour, 4),
    ];
    let mut share = 0;
    limits.map(|limit| {
        share += 1;
        limit.unwrap().in_share(share)
    })
}

fn ask(memory: &Memory, name: &str, number: u64, limit: Limit, cost: u64, now: Timestamp) -> bool {
    let mut plan = Plan::new();
    plan.charge(Key { home: &[name.as_bytes()], own: &[&number.to_be_bytes()] }, limit, cost).unwrap();
    memory.decide_now(&plan, now).unwrap().allowed()
}

/// What is left in a counter of its own.
fn left(memory: &Memory, name: &str, number: u64, limit: Limit, now: Timestamp) -> u64 {
    let mut plan = Plan::new();
    plan.charge(Key { home: &[name.as_bytes()], own: &[&number.to_be_bytes()] }, limit, 0).unwrap();
    memory.read_now(&plan, now).unwrap().verdicts[0].remaining
}

fn ask_alone(alone: &Reference, name: &str, number: u64, limit: Limit, cost: u64, now: Timestamp) -> bool {
    let mut plan = Plan::new();
    plan.charge(Key { home: &[name.as_bytes()], own: &[&number.to_be_bytes()] }, limit, cost).unwrap();
    alone.decide_now(&plan, now).unwrap().allowed()
}

/// Numbers without an order.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

/// Rounds of ten minutes with five million keys each, with costs of one to three; one in ten goes on until it is refused.
/// Every hundredth request is that of an honest newcomer, who comes twice. New offenders use up an hour's limit at the
/// beginning of each round, and are asked again at its end: whom a store refuses that knows nobody else is refused. (Who
/// comes into a table full of others and is counted together with them is none; few are.)
fn attack(rounds: u64) {
    let (memory, alone, limits) = (Memory::with_cap(CAP), Reference::new(), limits());
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    let offenders = |round: u64| {
        let number = move |number: u64| round * OFFENDERS + number;
        (0..OFFENDERS).map(number).map(|number| (number, limits[if number % 2 == 0 { 2 } else { 5 }]))
    };
    let before = resident_bytes();
    let (mut newcomers, mut refused) = (0_u64, 0_u64);
    for round in 0..rounds {
        let start = START.plus_us(round * ROUND_US);
        let is_established = |(number, limit): &(u64, Limit)| {
            while ask(&memory, "offender", *number, *limit, 5, start) {}
            while ask_alone(&alone, "offender", *number, *limit, 5, start) {}
            left(&memory, "offender", *number, *limit, start) < 5
        };
        let established: Vec<(u64, Limit)> = offenders(round).filter(is_established).collect();
        assert!(established.len() as u64 > OFFENDERS * 9 / 10, "{} in round {round}", established.len());
        for key in 0..KEYS {
            let (number, now) = (round * KEYS + key, start.plus_us(key * ROUND_US / KEYS));
            let limit = limits[usize::try_from(random(&mut seed) % 6).unwrap()];
            let cost = 1 + random(&mut seed) % 3;
            let mut more = if random(&mut seed).is_multiple_of(10) { 20 } else { 1 };
            while more > 0 && ask(&memory, "flood", number, limit, cost, now) {
                more -= 1;
            }
            if key % 100 == 0 {
                let limit = limits[usize::try_from(random(&mut seed) % 6).unwrap()];
                for _ in 0..2 {
                    newcomers += 1;
                    refused += u64::from(!ask(&memory, "newcomer", number, limit, 1, now));
                }
            }
        }
        let end = start.plus_us(ROUND_US - 1);
        let is_free = |(number, limit): &(u64, Limit)| {
            ask(&memory, "offender", *number, *limit, 5, end)
                && !ask_alone(&alone, "offender", *number, *limit, 5, end)
        };
        let free = established.into_iter().filter(is_free).count();
        assert_eq!(free, 0, "of {OFFENDERS} offenders {free} were let free in round {round}");
    }
    let (usage, grown) = (memory.usage(), resident_bytes().saturating_sub(before));
    assert!(refused * 100 <= newcomers, "of {newcomers} newcomers {refused} were refused; {usage:?}");
    assert!(usage.bytes <= CAP && usage.evicted > rounds * KEYS / 4, "{usage:?}");
    assert!(grown <= CAP + CAP / 20 + alone.usage().bytes, "{grown} bytes more than before; {usage:?}");
}

/// In a process of its own, so that its memory can be told.
fn attack_alone(rounds: u64) {
    let tests = std::env::current_exe().unwrap();
    let mut attack = std::process::Command::new(tests);
    attack
        .args(["--exact", "attack::the_attack_itself", "--ignored"])
        .env("TIDEGATE_ATTACK_ROUNDS", rounds.to_string());
    let output = attack.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn five_million_keys_free_no_offender_and_shut_nobody_out() {
    attack_alone(1);
}

#[test]
#[ignore = "takes minutes; make deep runs it"]
fn a_hundred_million_keys_free_no_offender_and_shut_nobody_out() {
    attack_alone(20);
}

#[test]
#[ignore = "started by the tests above"]
fn the_attack_itself() {
    attack(std::env::var("TIDEGATE_ATTACK_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap()));
}

#[test]
fn a_flood_through_one_rule_leaves_the_counters_of_others() {
    let memory = Memory::with_cap(1 << 20);
    let [_, _, hourly, ..] = limits();
    let (small, large) = (hourly.in_share(100), hourly.in_share(200));
    // Far from their limits, and yet nobody forgets them.
    for number in 0..500 {
        assert!(ask(&memory, "small", number, small, 1, START));
    }
    for number in 0..300_000 {
        for _ in 0..2 {
            assert!(ask(&memory, "large", number, large, 1, START));
        }
    }
    let evictions = memory.evictions();
    assert_eq!(evictions.get(&100), Some(&0), "{evictions:?}");
    assert!(evictions[&200] > 200_000, "{evictions:?}");
}

#[test]
fn a_table_full_of_offenders_lets_newcomers_in_within_a_bound() {
    const LIMIT: u64 = 4;
    let memory = Memory::with_cap(1 << 20);
    let limit = Limit::fixed_window(LIMIT, Window::Aligned(Duration::from_secs(3_600))).unwrap();
    let mut admitted_after_full = 0;
    let mut first_newcomers = 0;
    for number in 0..400_000_u64 {
        let mut admitted = 0;
        while admitted <= LIMIT && ask(&memory, "flood", number, limit, 1, START) {
            admitted += 1;
        }
        assert!(admitted <= LIMIT);
        if number >= 200_000 {
            admitted_after_full += admitted;
        }
        if number == 60_000 {
            first_newcomers =
                (0..100).filter(|number| ask(&memory, "peace", *number, limit, 1, START)).count();
        }
    }
    assert!(admitted_after_full <= 1_024 * LIMIT, "{admitted_after_full}");
    assert!(first_newcomers > 0, "the shared counters let some in");
    assert!(!ask(&memory, "flood", 0, limit, 1, START), "the first of all is still refused");
}
