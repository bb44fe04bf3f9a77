//! limitador's storage in Redis beside ours: the same fixed windows by user, asked in this process, from one thread.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, ensure};
use limitador::limit::{Context, Expression, Limit, Namespace};
use limitador::storage::AsyncStorage;
use limitador::storage::redis::AsyncRedisStorage;
use limitador::{AsyncRateLimiter, AsyncRateLimiterBuilder};
use tidegate_core::Timestamp;
use tidegate_engine::{Check, Engine};
use tidegate_redis::{Client, Redis};
use tidegate_rig::Server;
use tidegate_rules::{Source, compile};
use tokio::runtime::Runtime;

use super::crowd::{Asked, IN_FLIGHT, runtime};
use super::node::{Taken, store};
use super::{Plan, services};
use crate::bounds::{Figure, Found};
use crate::report::{Table, counted};

const USERS: usize = 500;

/// Out of reach.
const AMOUNT: u32 = 1_000_000;

/// The length of the first window; each of the others is a second longer.
const WINDOW_S: u64 = 60;

pub(super) fn report(plan: &Plan, found: &mut Found) -> Result<()> {
    println!("### Beside limitador\n");
    println!(
        "Fixed windows of one user, {IN_FLIGHT} checks under way at once from one thread: from the request's attributes to the \
         decision. Microseconds of processor per decision, of this process and of Redis together: median (quartiles), and the median \
         of the ratios to limitador in the same round; {}. limitador reads all counters in one trip and adds to them in a second.\n",
        counted(plan.rounds, "round")
    );
    let mut table = Table::new("", ["1 limit", "4 limits"]);
    let (one, four) = (measure(plan, 1)?, measure(plan, 4)?);
    for (index, name) in ["Tidegate's engine", "limitador"].iter().enumerate() {
        table.row(name, [&one, &four].map(|taken| services::cell(&taken[index], &taken[1])));
    }
    println!("{table}");
    services::note(&one, found, Figure::OverLimitador { limits: 1 });
    services::note(&four, found, Figure::OverLimitador { limits: 4 });
    Ok(())
}

fn measure(options: &Plan, limits: u64) -> Result<[Vec<f64>; 2]> {
    eprintln!("redis: beside limitador, {limits} limits");
    let runtime = runtime()?;
    let (our_server, their_server) = (Server::start(), Server::start());
    let ours = Arc::new(Ours::new(&our_server, &runtime, limits)?);
    let theirs = Arc::new(Theirs::new(&their_server, &runtime, limits)?);
    let (mut our_taken, mut their_taken) = (Taken::default(), Taken::default());
    for _ in 0..=options.rounds {
        our_taken.round((&our_server, &runtime), &ours, options.checks)?;
        their_taken.round((&their_server, &runtime), &theirs, options.checks)?;
    }
    Ok([our_taken.both(), their_taken.both()])
}

fn user(check: usize) -> String {
    format!("user:{:08}", check % USERS)
}

struct Ours {
    engine: Engine<Redis<Client>>,
    limits: u64,
}

impl Ours {
    fn new(server: &Server, runtime: &Runtime, limits: u64) -> Result<Self> {
        let mut text =
            String::from("domain: bench\nrules:\n  - name: per-user\n    by: [user]\n    limits:\n");
        for index in 0..limits {
            let seconds = WINDOW_S + index;
            writeln!(text, "      - {{ amount: {AMOUNT}, per: {seconds}s, algorithm: fixed_window }}")?;
        }
        let compiled = compile(vec![Source::new("bench.yaml", text)]);
        let said = compiled.render();
        let engine = Engine::new(store(server, runtime)?);
        engine.install(compiled.snapshot.with_context(|| format!("the rules do not compile:\n{said}"))?);
        Ok(Self { engine, limits })
    }
}

impl Asked for Ours {
    async fn ask(&self, check: usize) -> Result<bool> {
        let user = user(check);
        let check = Check { attributes: &[("user", &user)], ..Check::new("bench") };
        let decision = self.engine.check(&check, Timestamp::ZERO).await?;
        ensure!(decision.limits().len() as u64 == self.limits, "a request is not held to all limits");
        Ok(decision.allowed())
    }
}

struct Theirs {
    limiter: AsyncRateLimiter,
    namespace: Namespace,
    limits: usize,
}

impl Theirs {
    fn new(server: &Server, runtime: &Runtime, limits: u64) -> Result<Self> {
        let storage = runtime.block_on(AsyncRedisStorage::new(&server.url()))?;
        let limiter =
            AsyncRateLimiterBuilder::new(AsyncStorage::with_counter_storage(Box::new(storage))).build();
        for index in 0..limits {
            let user = Expression::parse("user").map_err(|error| anyhow!("limitador: {error}"))?;
            limiter.add_limit(Limit::new("bench", AMOUNT.into(), WINDOW_S + index, [], [user]));
        }
        Ok(Self { limiter, namespace: "bench".into(), limits: usize::try_from(limits)? })
    }
}

impl Asked for Theirs {
    async fn ask(&self, check: usize) -> Result<bool> {
        let context = Context::from(HashMap::from([("user".to_owned(), user(check))]));
        let answer = self.limiter.check_rate_limited_and_update(&self.namespace, &context, 1).await;
        let answer = answer.map_err(|error| anyhow!("limitador: {error}"))?;
        ensure!(answer.counters.len() == self.limits, "a request is not held to all limits");
        Ok(!answer.limited)
    }
}
