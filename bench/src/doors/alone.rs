//! The load by itself, against a server that is already there.

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Result, bail};

use super::grpc::ENVOY;
use super::load::{Crowd, Times, runtime};
use super::requests::Requests;
use super::talk::{Talker, connect_grpc, connect_http, connect_resp};

/// Whom to ask, and how.
pub(crate) struct Load {
    pub(crate) door: Door,
    pub(crate) address: SocketAddr,
    pub(crate) connections: usize,
    pub(crate) checks: usize,
    /// Calls under way on each connection of gRPC, and commands sent at once over the Redis protocol.
    pub(crate) together: usize,
    /// Of a call over gRPC, each with a limit of its own.
    pub(crate) descriptors: usize,
    /// Checks per second; as fast as they are answered without it.
    pub(crate) rate: Option<f64>,
}

#[derive(Clone, Copy)]
pub(crate) enum Door {
    Grpc,
    Http,
    Resp,
}

impl FromStr for Door {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> Result<Self> {
        match word {
            "grpc" => Ok(Self::Grpc),
            "http" => Ok(Self::Http),
            "resp" => Ok(Self::Resp),
            other => bail!("{other:?} is none of grpc, http and resp"),
        }
    }
}

pub(crate) fn run(load: &Load) -> Result<()> {
    let runtime = runtime()?;
    let times = runtime.block_on(async {
        match load.door {
            Door::Grpc => {
                let requests = Arc::new(Requests::envoy(load.descriptors));
                let width = (load.connections, load.together);
                ask(load, connect_grpc((load.address, ENVOY), &requests, width).await?, 1).await
            }
            Door::Http => {
                let requests = Arc::new(Requests::http());
                ask(load, connect_http(load.address, &requests, load.connections).await?, 1).await
            }
            Door::Resp => {
                let requests = Arc::new(Requests::resp());
                ask(load, connect_resp(load.address, &requests, load.connections).await?, load.together).await
            }
        }
    })?;
    let within = |share| times.within(share).as_secs_f64() * 1e3;
    println!(
        "{:.0} checks per second; answered within {:.3} ms (half), {:.3} ms (99 %), {:.3} ms (99.9 %)",
        times.rate(),
        within(0.5),
        within(0.99),
        within(0.999)
    );
    Ok(())
}

async fn ask<T: Talker>(load: &Load, talkers: Vec<T>, together: usize) -> Result<Times> {
    let mut crowd = Crowd::new(talkers);
    match load.rate {
        None => crowd.ask(0..load.checks, together).await,
        Some(rate) => crowd.pace(0..load.checks, rate).await,
    }
}
