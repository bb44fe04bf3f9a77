//! What is sent to a server in one round, and what it uses for it.

use anyhow::Result;
use tidegate_redis::Call;
use tidegate_rig::Server;

use super::calls;
use super::line::Line;
use crate::usage;

/// The most checks in one command, as the client has it.
pub(super) const JOINED: usize = 32;

/// What goes over one connection in one breath, and how many replies come back.
pub(super) struct Parcel {
    pub(super) line: usize,
    pub(super) bytes: Vec<u8>,
    pub(super) replies: usize,
}

/// Everything that is sent in one round: all parcels of a breath are under way at once.
pub(super) struct Work {
    lines: Vec<Line>,
    breaths: Vec<Vec<Parcel>>,
    checks: usize,
}

impl Work {
    pub(super) fn new(
        server: &Server,
        lines: usize,
        breaths: Vec<Vec<Parcel>>,
        checks: usize,
    ) -> Result<Self> {
        let lines = (0..lines).map(|_| Line::open(server)).collect::<Result<_>>()?;
        Ok(Self { lines, breaths, checks })
    }

    /// Calls over one connection, so many under way at once, each by itself.
    pub(super) fn alone(server: &Server, calls: &[Call], depth: usize) -> Result<Self> {
        Self::of_calls(server, calls, depth, 1)
    }

    /// The same, made one where the client would.
    pub(super) fn joined(server: &Server, calls: &[Call], depth: usize) -> Result<Self> {
        Self::of_calls(server, calls, depth, JOINED)
    }

    fn of_calls(server: &Server, calls: &[Call], depth: usize, joined: usize) -> Result<Self> {
        let breath = |calls: &[Call]| {
            let commands = calls.chunks(joined).map(calls::run);
            let (bytes, replies) = (commands.clone().flatten().collect(), commands.count());
            vec![Parcel { line: 0, bytes, replies }]
        };
        Self::new(server, 1, calls.chunks(depth).map(breath).collect(), calls.len())
    }

    /// The same for so many checks, each of which may be several calls.
    pub(super) fn per(self, checks: usize) -> Self {
        Self { checks, ..self }
    }

    /// Sends everything, and tells the microseconds that the server used per check.
    pub(super) fn run(&mut self, server: &Server) -> Result<f64> {
        let before = usage::of_redis(server)?;
        for breath in &self.breaths {
            for parcel in breath {
                self.lines[parcel.line].send(&parcel.bytes)?;
            }
            for parcel in breath {
                (0..parcel.replies).try_for_each(|_| self.lines[parcel.line].take())?;
            }
        }
        Ok((usage::of_redis(server)? - before) / self.checks as f64)
    }
}

/// Lets all take turns, round by round; the first round warms up. The figures of each.
pub(super) fn rounds(server: &Server, works: &mut [Work], rounds: u32) -> Result<Vec<Vec<f64>>> {
    let mut taken = vec![Vec::new(); works.len()];
    for round in 0..=rounds {
        for (work, taken) in works.iter_mut().zip(&mut taken) {
            let used = work.run(server)?;
            if round > 0 {
                taken.push(used);
            }
        }
    }
    Ok(taken)
}
