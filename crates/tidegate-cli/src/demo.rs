//! `tidegate demo`: a server with example rules, traffic of several callers, and a live table of what becomes of it.

mod server;
mod traffic;
mod interrupt;

use std::io::IsTerminal as _;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;

use crate::exit::Failure;
use crate::output::{print, talk};
use traffic::{Caller, Tally};

/// Starts a server with example rules and synthetic traffic, and shows what becomes of it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tidegate demo\n  tidegate demo --seconds 5 | cat")]
pub(crate) struct DemoArgs {
    /// How long; until Ctrl-C by default on a terminal, 5 seconds otherwise
    #[arg(long)]
    seconds: Option<u64>,
}

/// How often the table is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(500);

pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let live = std::io::stdout().is_terminal();
    let seconds = args.seconds.or(if live { None } else { Some(5) });
    let interrupted = interrupt::listen()?;
    let server = server::start()?;
    talk(&format!("server: http://{}  (metrics and rules: http://{})\n", server.http, server.admin));
    let (tell, told) = mpsc::sync_channel(1024);
    let callers: Vec<_> =
        traffic::CALLERS.iter().map(|caller| caller.start(&server.http, tell.clone())).collect();
    drop(tell);
    let mut tallies: Vec<Tally> = traffic::CALLERS.iter().map(|_| Tally::default()).collect();
    let started = Instant::now();
    let mut drawn = started;
    let over = || seconds.is_some_and(|seconds| started.elapsed() >= Duration::from_secs(seconds));
    while !over() && !interrupted.load(Relaxed) {
        match told.recv_timeout(DRAW_EVERY) {
            Ok((caller, answer)) => tallies[caller].count(answer),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
        if live && drawn.elapsed() >= DRAW_EVERY {
            drawn = Instant::now();
            print(&format!("\u{1b}[H\u{1b}[2J{}", table(&tallies, started.elapsed())))?;
        }
    }
    if !live {
        print(&table(&tallies, started.elapsed()))?;
    }
    drop(told);
    for caller in callers {
        drop(caller.join());
    }
    Ok(())
}

fn table(tallies: &[Tally], elapsed: Duration) -> String {
    let head = ["CALLER", "DOES", "SENT", "ALLOWED", "DENIED", "LAST REFUSED BY"].map(str::to_owned);
    let row = |(caller, tally): (&Caller, &Tally)| {
        let last = tally.last_refusal.clone().unwrap_or_else(|| "-".to_owned());
        let counts = [tally.sent, tally.allowed, tally.denied].map(|count| count.to_string());
        let [sent, allowed, denied] = counts;
        line(&[caller.name.to_owned(), caller.does.to_owned(), sent, allowed, denied, last])
    };
    let rows = traffic::CALLERS.iter().zip(tallies).map(row);
    let (sent, failed) =
        tallies.iter().fold((0, 0), |(sent, failed), tally| (sent + tally.sent, failed + tally.failed));
    let foot = format!("\n{sent} checks in {:.1} s, {failed} without an answer\n", elapsed.as_secs_f64());
    std::iter::once(line(&head)).chain(rows).chain([foot]).collect()
}

fn line([caller, does, sent, allowed, denied, last]: &[String; 6]) -> String {
    format!("{caller:<22} {does:<34} {sent:>7} {allowed:>8} {denied:>8}  {last}\n")
}
