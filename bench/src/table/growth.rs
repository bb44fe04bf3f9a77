//! The table from nothing to a hundred million keys, in one process that is loaded on and looked at now and then: bytes per
//! key, and how long single decisions take while it grows.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::delays::{Counts, LONG, Worst, nanoseconds, waited};
use crate::bounds::{Figure, Found};
use crate::engines::{Engine, Setup, Tidegate};
use crate::keys::Key as _;
use crate::memory::{available_bytes, resident_bytes};
use crate::protocol::numbers;
use crate::report::{Table, short};

/// One per 10 000 s and a burst of 4: narrow, and a key that was asked for once counts for longer than all this lasts.
const SETUP: Setup = Setup { burst: 4, every_s: 10_000, keys: 0 };

/// What a key may take, for the question whether there is memory enough.
const BYTES_PER_KEY: u64 = 40;

/// The figures that belong to the bounds are those with as many keys.
const ALL_KEYS: u64 = 100_000_000;

/// If more counters are missing than one of so many keys, keys have come to their end and the figures are of another table.
const KEYS_PER_MISSING: u64 = 100_000;

/// What a child says of one size.
struct Look {
    keys: u64,
    bytes: u64,
    /// Keys whose counters are not there.
    missing: u64,
    /// Since the size before.
    worst: Worst,
    /// Of all decisions so far, 99.999 % took no longer.
    nearly_all: Duration,
}

pub(super) fn report(sizes: &[u32], found: &mut Found) -> Result<()> {
    println!("## A growing table\n");
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let needed = u64::from(largest) * BYTES_PER_KEY;
    if available_bytes()? < needed {
        println!("Skipped: it needs {:.1} GB of free memory.\n", gigabytes(needed));
        return Ok(());
    }
    println!(
        "One process, loaded on with string keys (13 bytes each) under one limit of the narrow size: one per 10 000 s, a burst \
         of 4, so that no key comes to its end meanwhile. Bytes are the growth of its resident memory. Every decision is timed, \
         with the making of its key: the worst since the size before, and how many took over 0.1 ms and 1 ms. *Without waiting* \
         takes off how long the thread was ready and had no core, as the kernel counts it.\n"
    );
    let looks = grown(sizes)?;
    println!("{}", table(&looks));
    let worst = in_all(&looks);
    let nearly_all = looks.last().map_or(Duration::ZERO, |look| look.nearly_all);
    println!(
        "Of all decisions 99.999 % took at most {:.1} us, {} over 0.1 ms, {} over 1 ms; the worst took {:.3} ms, without waiting \
         {:.3} ms.\n",
        nearly_all.as_secs_f64() * 1e6,
        worst.long,
        worst.too_long,
        milliseconds(worst.taken),
        milliseconds(worst.own)
    );
    if looks.last().is_some_and(|look| look.keys == ALL_KEYS) {
        note(&looks, worst, found);
    }
    Ok(())
}

fn table(looks: &[Look]) -> Table {
    let titles = [
        "bytes per key",
        "GB in all",
        "worst, ms",
        "without waiting, ms",
        "over 0.1 ms",
        "over 1 ms",
        "counters missing",
    ];
    let mut table = Table::new("keys", titles);
    for look in looks {
        let Look { keys, bytes, worst, .. } = look;
        let cells = [
            format!("{:.1}", look.bytes_per_key()),
            format!("{:.3}", gigabytes(*bytes)),
            format!("{:.3}", milliseconds(worst.taken)),
            format!("{:.3}", milliseconds(worst.own)),
            worst.long.to_string(),
            worst.too_long.to_string(),
            look.missing.to_string(),
        ];
        table.row(&short(*keys), cells);
    }
    table
}

fn note(looks: &[Look], worst: Worst, found: &mut Found) {
    let each = || looks.iter().map(Look::bytes_per_key);
    found.note(Figure::BytesOnAverage, Some(each().sum::<f64>() / looks.len() as f64));
    found.note(Figure::BytesAtWorst, each().reduce(f64::max));
    found.note(Figure::GigabytesInAll, looks.last().map(|look| gigabytes(look.bytes)));
    found.note(Figure::WorstDecision, Some(milliseconds(worst.taken)));
    found.note(Figure::WorstWithoutWaiting, Some(milliseconds(worst.own)));
}

fn in_all(looks: &[Look]) -> Worst {
    looks.iter().map(|look| look.worst).fold(Worst::default(), |all, one| Worst {
        taken: all.taken.max(one.taken),
        own: all.own.max(one.own),
        long: all.long + one.long,
        too_long: all.too_long + one.too_long,
    })
}

fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

fn milliseconds(taken: Duration) -> f64 {
    taken.as_secs_f64() * 1e3
}

/// Starts the child and reads what it says.
fn grown(sizes: &[u32]) -> Result<Vec<Look>> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let sizes = sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let output = Command::new(own).args(["grow", &sizes]).stderr(Stdio::inherit()).output()?;
    ensure!(
        output.status.success(),
        "the growing process ended with {}; its message is above",
        output.status
    );
    String::from_utf8(output.stdout)?.lines().map(Look::read).collect()
}

impl Look {
    fn bytes_per_key(&self) -> f64 {
        self.bytes as f64 / self.keys as f64
    }

    fn read(line: &str) -> Result<Self> {
        let [keys, bytes, missing, taken, own, long, too_long, nearly_all] = numbers(line)?;
        let [taken, own, nearly_all] = [taken, own, nearly_all].map(Duration::from_nanos);
        Ok(Self { keys, bytes, missing, worst: Worst { taken, own, long, too_long }, nearly_all })
    }

    fn line(&self) -> String {
        let Self { keys, bytes, missing, worst: Worst { taken, own, long, too_long }, nearly_all } = self;
        let [taken, own, nearly_all] = [*taken, *own, *nearly_all].map(nanoseconds);
        format!("{keys} {bytes} {missing} {taken} {own} {long} {too_long} {nearly_all}")
    }
}

/// The child: grows a table to each of the sizes in turn, and prints what it finds there.
pub(crate) fn serve(sizes: &[u32]) -> Result<()> {
    let mut counts = Counts::new();
    let mut said = String::new();
    let before = resident_bytes()?;
    let engine = Engine::<String>::new(SETUP)?;
    let mut loaded = 0;
    for keys in sizes.iter().copied() {
        eprintln!("growing to {} keys", short(keys));
        let worst = load(&engine, loaded..keys, &mut counts)?;
        loaded = loaded.max(keys);
        let bytes = resident_bytes()?.saturating_sub(before);
        let held = Engine::<String>::held(&engine).context("ours can say how many counters it holds")?;
        let (keys, missing) = (u64::from(loaded), u64::from(loaded).saturating_sub(held as u64));
        ensure!(missing <= keys / KEYS_PER_MISSING, "holds {held} counters after loading {loaded} keys");
        let look = Look { keys, bytes, missing, worst, nearly_all: counts.all_but(10) };
        writeln!(said, "{}", look.line())?;
    }
    print!("{said}");
    Ok(())
}

/// Asks for each of these keys once, and takes the time of each. From the end of one to the end of the next, so that nothing
/// falls in between.
fn load(engine: &Tidegate<1>, keys: std::ops::Range<u32>, counts: &mut Counts) -> Result<Worst> {
    let (mut key, mut worst) = (String::fresh(), Worst::default());
    let mut waited_before = waited();
    let mut before = Instant::now();
    for index in keys {
        key.set(index);
        let admitted = engine.decide(&key);
        let mut after = Instant::now();
        let taken = after - before;
        counts.add(taken);
        if taken >= LONG {
            let waited = waited();
            worst.add(taken, waited.saturating_sub(waited_before));
            (waited_before, after) = (waited, Instant::now());
        }
        before = after;
        ensure!(admitted, "key {index} was refused while growing");
    }
    Ok(worst)
}
