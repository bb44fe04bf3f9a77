//! What a counter weighs in the server.

use std::time::Duration;

use anyhow::{Result, ensure};
use tidegate_core::{Limit, Rate};
use tidegate_rig::Server;

use super::calls::{self, Calls, load_scripts, plan};
use super::line::Line;
use super::work::JOINED;
use super::{FULL_ENTITIES, Plan};
use crate::bounds::{Figure, Found};
use crate::report::{Table, short};
use crate::usage;

/// Commands that are sent before their replies are read.
const AHEAD: usize = 8;

pub(super) fn report(plan: &Plan, found: &mut Found) -> Result<()> {
    println!("### What a counter weighs\n");
    println!(
        "By how much the server's memory grows per counter (`used_memory`: keys, values, ends and tables), with {} entities, \
         GCRA.\n",
        short(plan.entities)
    );
    let mut table = Table::new("limits of an entity", ["bytes per counter", "bytes per entity"]);
    for (limits, figure) in [(1, Figure::RedisBytesOfOne), (4, Figure::RedisBytesOfFour)] {
        let bytes = weigh(limits, plan.entities)?;
        let each = bytes / limits as f64;
        table.row(&limits, [format!("{each:.1}"), format!("{bytes:.1}")]);
        found.note(figure, (plan.entities == FULL_ENTITIES).then_some(each));
    }
    println!("{table}");
    Ok(())
}

/// Bytes per entity.
fn weigh(limits: usize, entities: u32) -> Result<f64> {
    eprintln!("redis: loading {} entities with {limits} limits", short(entities));
    let server = Server::start();
    load_scripts(&server);
    // It drains for longer than the loading takes.
    let gcra = |burst| Ok(Limit::gcra(Rate::new(1, Duration::from_secs(10_000))?, burst)?);
    let limits = (0..limits as u64).map(|limit| gcra(40 + limit)).collect::<Result<Vec<_>>>()?;
    let before = usage::bytes_of_redis(&server)?;
    load(&server, &limits, entities as usize)?;
    let kept: u32 = server.ask(&["DBSIZE"]);
    ensure!(kept == entities, "{kept} of {entities} entities are in the server");
    Ok((usage::bytes_of_redis(&server)? - before) / f64::from(entities))
}

fn load(server: &Server, limits: &[Limit], entities: usize) -> Result<()> {
    let (maker, mut line) = (Calls::new(), Line::open(server)?);
    for first in (0..entities).step_by(JOINED * AHEAD) {
        let last = entities.min(first + JOINED * AHEAD);
        let calls = (first..last).map(|entity| maker.decide(&plan(limits, entity)?));
        let calls = calls.collect::<Result<Vec<_>>>()?;
        let commands: Vec<Vec<u8>> = calls.chunks(JOINED).map(calls::run).collect();
        line.send(&commands.concat())?;
        commands.iter().try_for_each(|_| line.take())?;
    }
    Ok(())
}
