//! Decisions of the memory store for callgrind, which counts the same instructions in each run. With
//! `CARGO_PROFILE_RELEASE_LTO=thin CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1`, as the figures in comments were taken:
//!
//! ```sh
//! cargo build --release -p tidegate-store --example instructions
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no --toggle-collect='instructions::timed*' \
//!     target/release/examples/instructions narrow   # divide by 20 000
//! ```

use std::hint::black_box;
use std::time::Duration;

use tidegate_core::{EncodedParts, Key, Limit, Plan, PreparedCharge, Rate, Timestamp, Values, Window};
use tidegate_store::Memory;

type Error = Box<dyn std::error::Error>;

const START: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);
const DECISIONS: u32 = 20_000;
const SECOND_US: u64 = 1_000_000;

/// One unit each `every` seconds. Narrow up to a burst of 8 191.
fn gcra(burst: u64, every: u64) -> Result<Limit, Error> {
    Ok(Limit::gcra(Rate::new(1, Duration::from_secs(every))?, burst)?)
}

/// Narrow limits that admit one unit a second.
fn narrow() -> Result<[Limit; 4], Error> {
    let minute = Duration::from_secs(60);
    let window = Limit::fixed_window(100, Window::Aligned(minute))?;
    Ok([gcra(400, 1)?, gcra(300, 1)?, window, Limit::sliding_window(100, minute)?])
}

fn charge(plan: &mut Plan, limit: Limit, number: u32) -> Result<(), Error> {
    let index = u8::try_from(plan.len())?;
    Ok(plan.charge(Key { home: &[&[index]], own: &[&u64::from(number).to_be_bytes()] }, limit, 1)?)
}

fn plan(limits: &[Limit], number: u32) -> Result<Plan, Error> {
    let mut plan = Plan::new();
    limits.iter().try_for_each(|limit| charge(&mut plan, *limit, number))?;
    Ok(plan)
}

fn prepared(name: &[u8], limit: Limit) -> PreparedCharge {
    PreparedCharge::new(EncodedParts::new(&[b"domain", name]), EncodedParts::new(&[b"12345678"]), limit)
}

fn decide(store: &Memory, plans: &[Plan], decisions: u32, step_us: u64) -> Result<(), Error> {
    let mut now = START;
    for (plan, _) in plans.iter().cycle().zip(0..decisions) {
        now = now.plus_us(step_us);
        let _ = black_box(store.decide_now(black_box(plan), now)?);
    }
    Ok(())
}

#[inline(never)]
fn timed(store: &Memory, plans: &[Plan], step_us: u64) -> Result<(), Error> {
    decide(store, plans, DECISIONS, step_us)
}

/// With the making of the plan.
#[inline(never)]
fn timed_made(store: &Memory, charges: &[PreparedCharge]) -> Result<(), Error> {
    let mut now = START;
    for _ in 0..DECISIONS {
        now = now.plus_us(SECOND_US);
        let mut plan = Plan::new();
        for charge in black_box(charges) {
            plan.charge_prepared(charge, &Values { home: Some(b"user:00012345"), own: None }, 1)?;
        }
        let _ = black_box(store.decide_now(black_box(&plan), now)?);
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let store = Memory::with_cap(64 << 20);
    let (limits, wide) = (narrow()?, gcra(40_000, 1)?);
    let many = |count| (0..count).map(|number| plan(&limits[..1], number)).collect::<Result<Vec<_>, _>>();
    // The plans, how often they are decided beforehand, and the time between two decisions.
    let (plans, before, step_us) = match std::env::args().nth(1).as_deref() {
        Some("narrow") => (many(1)?, 1, SECOND_US),
        Some("narrow-refused") => (vec![plan(&[gcra(5, 10)?], 1)?], 6, 0),
        Some("wide") => (vec![plan(&[wide], 1)?], 1, SECOND_US),
        Some("many") => (many(100_000)?, 100_000, 0),
        Some("new") => (many(DECISIONS)?, 0, 0),
        Some("four") => (vec![plan(&limits, 1)?], 1, SECOND_US),
        Some("four-refused") => (vec![plan(&[gcra(5, 10)?, limits[1], limits[2], limits[3]], 1)?], 6, 0),
        Some("mixed") => (vec![plan(&[limits[0], wide, limits[2], gcra(50_000, 1)?], 1)?], 1, SECOND_US),
        Some("shadow") => {
            let mut plan = plan(&limits[..1], 1)?;
            plan.next_group();
            charge(&mut plan, limits[1], 1)?;
            (vec![plan], 1, SECOND_US)
        }
        Some("made") => return timed_made(&store, &[prepared(b"tenant", limits[0])]),
        Some("made-four") => {
            let names: [&[u8]; 4] = [b"tenan", b"tenant", b"tenant1", b"tenant12"];
            let charges: Vec<_> =
                names.iter().zip(limits).map(|(name, limit)| prepared(name, limit)).collect();
            return timed_made(&store, &charges);
        }
        _ => return Err("name a case, such as narrow".into()),
    };
    decide(&store, &plans, before, 0)?;
    timed(&store, &plans, step_us)
}
