//! What a check costs the node that asks, beside the plain `redis` crate that calls the same script.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use redis::aio::MultiplexedConnection;
use tidegate_core::{Limit, Plan as Charges, Rate, Timestamp};
use tidegate_redis::client::{Address, Settings as ClientSettings};
use tidegate_redis::{Call, Client, Redis, Settings, scripts};
use tidegate_rig::Server;
use tidegate_store::Store as _;
use tokio::runtime::{Handle, Runtime};

use super::Plan;
use super::calls::{Calls, four, load_scripts, plan};
use super::crowd::{Asked, IN_FLIGHT, ask_all, runtime};
use crate::bounds::{Figure, Found};
use crate::report::{Figures, Table, counted};
use crate::usage;

const ENTITIES: usize = 500;

/// Nobody is to be late, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(10);

/// The store with its client, once it is connected.
pub(super) fn store(server: &Server, runtime: &Runtime) -> Result<Redis<Client>> {
    runtime.block_on(async {
        let settings = ClientSettings { deadline: PATIENCE, scripts: scripts(), ..ClientSettings::default() };
        let address: Address = server.url().parse()?;
        let client = Client::open(address, settings, &Handle::current())?;
        client.ready().await;
        Ok(Redis::new(client, &Settings::default()))
    })
}

/// Fails unless twenty checks under a limit of ten are decided rightly.
pub(super) fn probe() -> Result<()> {
    let (server, runtime) = (Server::start(), runtime()?);
    let store = store(&server, &runtime)?;
    let limit = Limit::gcra(Rate::new(1, Duration::from_secs(1_000))?, 10)?;
    let mut admitted = 0;
    for _ in 0..20 {
        admitted += u32::from(asked(&store, &runtime, &plan(&[limit], 0)?)?);
    }
    if admitted == 10 { Ok(()) } else { bail!("{admitted} of 20 checks were admitted under a limit of 10") }
}

/// Whether a plan is admitted.
pub(super) fn asked(store: &Redis<Client>, runtime: &Runtime, plan: &Charges) -> Result<bool> {
    Ok(runtime.block_on(store.decide(plan, Timestamp::ZERO))?.allowed())
}

pub(super) fn report(plan: &Plan, found: &mut Found) -> Result<()> {
    println!("### What it costs to ask\n");
    println!(
        "A check of 4 GCRA limits, {IN_FLIGHT} under way at once from one thread. Microseconds of processor per check: median \
         (quartiles), and the median of the ratios to the plain crate in the same round; {}. The plain crate calls one script as \
         one writes it by hand: four keys named and twelve numbers given per check, and eight numbers read from the reply. Bare, it \
         is given the name, key and argument of our script, made beforehand, and nothing is made of the reply.\n",
        counted(plan.rounds, "round")
    );
    let taken = measure(plan)?;
    let mut table = Table::new("who asks", ["node", "Redis"]);
    let cell = |own: &[f64], plain: &[f64]| {
        let (own, ratios) = (Figures::new(own), Figures::ratios(own, plain));
        format!("{:.1} ({:.1}-{:.1}) {:.2}x", own.median, own.low, own.high, ratios.median)
    };
    let [ours, written, bare] = &taken;
    for (name, taken) in [
        ("our store and client", ours),
        ("`redis`, a script of four keys", written),
        ("`redis`, bare: a call that was made beforehand", bare),
    ] {
        table.row(&name, [cell(&taken.node, &written.node), cell(&taken.redis, &written.redis)]);
    }
    println!("{table}");
    found.note(Figure::NodeOverPlain, Some(Figures::ratios(&ours.node, &written.node).median));
    found.note(Figure::NodeOverBare, Some(Figures::ratios(&ours.node, &bare.node).median));
    Ok(())
}

/// What was used by round, in microseconds per check.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) node: Vec<f64>,
    pub(super) redis: Vec<f64>,
}

impl Taken {
    /// What a round uses of this process and of the server.
    pub(super) fn round<A: Asked>(
        &mut self,
        (server, runtime): (&Server, &Runtime),
        asked: &Arc<A>,
        checks: usize,
    ) -> Result<()> {
        let before = usage::of_redis(server)?;
        let own_before = usage::own();
        ask_all(runtime, asked, checks)?;
        self.node.push((usage::own() - own_before) / checks as f64);
        self.redis.push((usage::of_redis(server)? - before) / checks as f64);
        Ok(())
    }

    /// Both together, by round, without the first, which warms up.
    #[cfg(feature = "limitador-redis")]
    pub(super) fn both(&self) -> Vec<f64> {
        self.node.iter().zip(&self.redis).skip(1).map(|(node, redis)| node + redis).collect()
    }
}

fn measure(options: &Plan) -> Result<[Taken; 3]> {
    eprintln!("redis: what it costs to ask");
    let (server, runtime) = (Server::start(), runtime()?);
    load_scripts(&server);
    let (maker, limits) = (Calls::new(), four()?);
    let plans = (0..ENTITIES).map(|entity| plan(&limits, entity)).collect::<Result<Vec<_>>>()?;
    let calls = plans.iter().map(|plan| maker.decide(plan)).collect::<Result<Vec<_>>>()?;
    let ours = Arc::new(Ours { store: store(&server, &runtime)?, plans });
    let client = redis::Client::open(server.url())?;
    let connection = runtime.block_on(client.get_multiplexed_async_connection())?;
    let written = Arc::new(Written { connection: connection.clone(), script: redis::Script::new(WRITTEN) });
    let bare = Arc::new(Bare { connection, calls });
    let mut taken = [Taken::default(), Taken::default(), Taken::default()];
    for _ in 0..=options.rounds {
        taken[0].round((&server, &runtime), &ours, options.checks)?;
        taken[1].round((&server, &runtime), &written, options.checks)?;
        taken[2].round((&server, &runtime), &bare, options.checks)?;
    }
    for taken in &mut taken {
        // The first round warms up.
        taken.node.remove(0);
        taken.redis.remove(0);
    }
    Ok(taken)
}

struct Ours {
    store: Redis<Client>,
    plans: Vec<Charges>,
}

impl Asked for Ours {
    async fn ask(&self, check: usize) -> Result<bool> {
        let answer = self.store.decide(&self.plans[check % self.plans.len()], Timestamp::ZERO).await;
        Ok(answer?.allowed())
    }
}

struct Bare {
    connection: MultiplexedConnection,
    calls: Vec<Call>,
}

impl Asked for Bare {
    async fn ask(&self, check: usize) -> Result<bool> {
        let call = &self.calls[check % self.calls.len()];
        let (key, argument) = call.keys.first().zip(call.arguments.first()).context("a check has both")?;
        let mut command = redis::cmd("EVALSHA");
        command.arg(call.script.sha).arg(1).arg(key.as_slice()).arg(argument.as_slice());
        let reply: redis::Value = command.query_async(&mut self.connection.clone()).await?;
        ensure!(matches!(reply, redis::Value::BulkString(_)), "the script does not answer");
        Ok(true)
    }
}

/// The plain crate with a script that somebody wrote for four limits.
struct Written {
    connection: MultiplexedConnection,
    script: redis::Script,
}

/// GCRA by the server's time: theoretical arrival times as plain numbers, one key per limit, all or nothing.
const WRITTEN: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local passes, out = 1, {}
for index = 1, #KEYS do
  local burst, interval, cost = ARGV[3 * index - 2], ARGV[3 * index - 1], ARGV[3 * index]
  local arrival = math.max(tonumber(redis.call('GET', KEYS[index]) or 0), now) + interval * cost
  if arrival - now > burst * interval then passes = 0 end
  out[2 * index - 1], out[2 * index] = passes, arrival - now
end
if passes == 1 then
  for index = 1, #KEYS do
    redis.call('SET', KEYS[index], string.format('%.0f', now + out[2 * index]), 'PX', math.ceil(out[2 * index] / 1000))
  end
end
return out
";

impl Asked for Written {
    async fn ask(&self, check: usize) -> Result<bool> {
        let entity = check % ENTITIES;
        let mut call = self.script.prepare_invoke();
        for (limit, interval_us) in [10_000_u64, 20_000, 50_000, 100_000].into_iter().enumerate() {
            call.key(format!("bench:tenant-{entity}:limit-{limit}:user:{entity:08}"));
            call.arg(100_000_u64).arg(interval_us).arg(1_u64);
        }
        let reply: Vec<i64> = call.invoke_async(&mut self.connection.clone()).await?;
        ensure!(reply.len() == 8, "the script does not answer");
        Ok(reply.iter().step_by(2).all(|passes| *passes == 1))
    }
}
