//! What is compared: one trait, one file per engine.

mod dashmap;
mod governor;
mod key_only;
mod limitador;
mod throttlecrab;
mod tidegate;

use anyhow::{Context, Result, bail};

pub(crate) use self::dashmap::Dashmap;
pub(crate) use self::governor::Governor;
pub(crate) use self::key_only::KeyOnly;
pub(crate) use self::limitador::Limitador;
pub(crate) use self::throttlecrab::Throttlecrab;
pub(crate) use self::tidegate::{CAP_BYTES, Tidegate};
use crate::keys::Kind;
use crate::words::words;

/// Something that decides about keys of one type. Every call is to a known type, so that loops are compiled for it.
pub(crate) trait Engine<K>: Sized + Sync {
    /// An empty engine.
    fn new(setup: Setup) -> Result<Self>;

    /// May one more request with that key pass?
    fn decide(&self, key: &K) -> bool;

    /// How many counters it holds, if it can say.
    fn held(&self) -> Option<usize> {
        None
    }
}

/// The limit that each of an engine's limiters holds to: one more every `every_s`, and at most `burst` at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) burst: u32,
    pub(crate) every_s: u32,
    /// How many keys to expect, for those that must be told.
    pub(crate) keys: u32,
}

words! {
    /// How large the limit of a case is, by the slots that our table has for its counters.
    Width {
        /// 16 bytes.
        Narrow = "narrow",
        /// 32 bytes.
        Wide = "wide",
    }
}

impl Setup {
    /// A limit under which a key that was asked for once still counts for longer than it takes to load all keys: nothing may
    /// be dropped as expired behind the benchmark's back.
    pub(crate) fn new(width: Width, keys: u32) -> Self {
        match (width, keys) {
            // Many keys are each asked for a few times only, and take long to load.
            (Width::Narrow, 1_000_000..) => Self { burst: 40, every_s: 1_000, keys },
            (Width::Narrow, _) => Self { burst: 400, every_s: 100, keys },
            (Width::Wide, 1) => Self { burst: 300_000_000, every_s: 1, keys },
            (Width::Wide, _) => Self { burst: 3_000_000, every_s: 100, keys },
        }
    }

    /// The narrow limit if no key is asked for more often than it allows, else the wide one.
    pub(crate) fn unreachable(keys: u32, most_asked: u32) -> Result<Width> {
        let fits = |width: &Width| most_asked <= Self::new(*width, keys).burst;
        let width = Width::ALL.iter().copied().find(fits);
        width.with_context(|| {
            format!("a key is asked for {most_asked} times, too often; ask for fewer --rounds")
        })
    }

    /// The limit of the correctness probe.
    pub(crate) fn ten() -> Self {
        Self { burst: 10, every_s: 100, keys: 1 }
    }
}

words! {
    /// The engines, in the order in which each round runs them; ours is first.
    Name {
        Tidegate = "tidegate",
        Governor = "governor",
        Throttlecrab = "throttlecrab",
        Limitador = "limitador",
        Dashmap = "dashmap",
        KeyOnly = "key-only",
    }
}

impl Name {
    /// Whether it can take keys of that kind.
    pub(crate) fn takes(self, kind: Kind) -> bool {
        kind == Kind::Text || !matches!(self, Self::Throttlecrab | Self::Limitador)
    }

    /// How many fewer requests it gets per run: a decision that takes microseconds needs no more for a steady mean.
    pub(crate) const fn slowness(self) -> u32 {
        if matches!(self, Self::Limitador) { 10 } else { 1 }
    }
}

/// One of something per limit.
pub(crate) fn per_limit<T, const LIMITS: usize>(make: impl Fn(usize) -> Result<T>) -> Result<[T; LIMITS]> {
    let all: Vec<T> = (0..LIMITS).map(make).collect::<Result<_>>()?;
    match all.try_into() {
        Ok(all) => Ok(all),
        Err(_) => bail!("made another number of limiters than {LIMITS}"),
    }
}
