//! Three ways to charge a request to four limits, each with a store of its own.

use std::array;
use std::hint::black_box;
use std::time::Duration;

use anyhow::Result;
use tidegate::{Clock as _, Limit, Limiter, Rate, Rule, SystemClock};
use tidegate_core::{EncodedParts, PreparedKey};
use tidegate_store::Memory;

use crate::engines::{CAP_BYTES, Setup, Width, per_limit};
use crate::words::words;

/// How many limits a request meets.
pub(super) const LIMITS: usize = 4;

/// A key for each limit.
pub(super) type Request = [[u8; 13]; LIMITS];

words! {
    /// How a request is charged.
    Way {
        /// All or nothing.
        Plan = "plan",
        /// Four charges one after the other, at one reading of the clock.
        Charges = "charges",
        Checks = "checks",
    }
}

impl Way {
    pub(super) const fn about(self) -> &'static str {
        match self {
            Self::Plan => "one `check_all` of four rules",
            Self::Charges => "four charges in one call, one reading of the clock",
            Self::Checks => "four `check` calls",
        }
    }

    pub(super) fn make(self) -> Result<Box<dyn Charged>> {
        Ok(match self {
            Self::Plan => Box::new(AllAtOnce(Rules::new()?)),
            Self::Charges => Box::new(OneByOne::new()?),
            Self::Checks => Box::new(ByCheck(Rules::new()?)),
        })
    }
}

/// Something that requests are charged to; only whole loops are called through it.
pub(super) trait Charged {
    /// How many of the requests were refused.
    fn run(&self, requests: &[Request]) -> u64;

    /// The same under another name, so that its instructions are not counted.
    fn warm_up(&self, requests: &[Request]) -> u64;
}

trait Charges {
    /// Whether all four limits let the request pass.
    fn charge(&self, request: &Request) -> bool;
}

impl<C: Charges> Charged for C {
    fn run(&self, requests: &[Request]) -> u64 {
        planning_loop(self, requests)
    }

    fn warm_up(&self, requests: &[Request]) -> u64 {
        first_charged(self, requests)
    }
}

/// What is measured. Never inlined, so that callgrind can find it by its name; and not the same as the one below, or the
/// compiler would make one of both. How many were refused.
#[inline(never)]
fn planning_loop<C: Charges>(charged: &C, requests: &[Request]) -> u64 {
    requests.iter().map(|request| u64::from(!charged.charge(black_box(request)))).sum()
}

#[inline(never)]
fn first_charged<C: Charges>(charged: &C, requests: &[Request]) -> u64 {
    requests.iter().map(|request| u64::from(!charged.charge(request))).sum()
}

/// The limit of each of the four rules: narrow, and out of reach.
fn limit() -> Result<Limit> {
    let Setup { burst, every_s, .. } = Setup::new(Width::Narrow, 0);
    Ok(Limit::gcra(Rate::new(1, Duration::from_secs(every_s.into()))?, burst.into())?)
}

struct Rules {
    limiter: Limiter,
    rules: [Rule; LIMITS],
}

impl Rules {
    fn new() -> Result<Self> {
        let limit = limit()?;
        let rules = per_limit(|index| Ok(Rule::new(&format!("limit-{index}"), limit)?))?;
        Ok(Self { limiter: Limiter::with_cap(CAP_BYTES), rules })
    }
}

struct AllAtOnce(Rules);

impl Charges for AllAtOnce {
    #[inline]
    fn charge(&self, request: &Request) -> bool {
        let Self(Rules { limiter, rules }) = self;
        let asks: [_; LIMITS] = array::from_fn(|index| rules[index].on(&request[index]));
        limiter.check_all(&asks).is_ok_and(|decision| decision.allowed())
    }
}

struct ByCheck(Rules);

impl Charges for ByCheck {
    #[inline]
    fn charge(&self, request: &Request) -> bool {
        let Self(Rules { limiter, rules }) = self;
        rules.iter().zip(request).fold(true, |all, (rule, key)| {
            all & limiter.check(rule, key).is_ok_and(|decision| decision.allowed())
        })
    }
}

/// The store itself, with keys made as rules make theirs.
struct OneByOne {
    store: Memory,
    clock: SystemClock,
    limits: [(Limit, EncodedParts); LIMITS],
}

impl OneByOne {
    fn new() -> Result<Self> {
        let limit = limit()?;
        let limits = per_limit(|index| {
            let digest = EncodedParts::digest(&[format!("limit-{index}").as_bytes(), &limit.identity()]);
            Ok((limit.in_share(u32::try_from(index)? + 1), EncodedParts::new(&[&digest.to_be_bytes()])))
        })?;
        Ok(Self { store: Memory::with_cap(CAP_BYTES), clock: SystemClock::new(), limits })
    }
}

impl Charges for OneByOne {
    #[inline]
    fn charge(&self, request: &Request) -> bool {
        let now = self.clock.now();
        self.limits.iter().zip(request).fold(true, |all, ((limit, back), key)| {
            let mut room = [0; 120];
            let home: &[&[u8]] = &[key];
            let key = PreparedKey { front: EncodedParts::NONE, home, back, own: &[] };
            let key = key.encode_into(&mut room);
            let verdict = key.and_then(|(key, _)| self.store.decide_one_now(key, limit, 1, now));
            all & verdict.is_some_and(|verdict| verdict.allowed())
        })
    }
}
