//! What processes have used so far: microseconds of processor time, user and system together, and bytes.

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use tidegate_rig::Server;

/// Of a Redis server, as it says itself.
pub(super) fn of_redis(server: &Server) -> Result<f64> {
    let text: String = server.ask(&["INFO", "cpu"]);
    Ok((field(&text, "used_cpu_user")? + field(&text, "used_cpu_sys")?) * 1e6)
}

/// The bytes that a Redis server has taken from its allocator.
pub(super) fn bytes_of_redis(server: &Server) -> Result<f64> {
    field(&server.ask::<String>(&["INFO", "memory"]), "used_memory")
}

/// How many commands a Redis server has run, those of scripts among them.
pub(super) fn commands_of_redis(server: &Server) -> Result<f64> {
    field(&server.ask::<String>(&["INFO", "stats"]), "total_commands_processed")
}

/// Of this process, with all its threads.
pub(super) fn own() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Of another process: of all its threads that are there.
pub(super) fn of_process(id: u32) -> Result<f64> {
    let mut nanoseconds = 0.0;
    for thread in std::fs::read_dir(format!("/proc/{id}/task"))? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        nanoseconds += text.split(' ').next().and_then(|used| used.parse::<f64>().ok()).unwrap_or_default();
    }
    Ok(nanoseconds / 1e3)
}

fn field(text: &str, name: &str) -> Result<f64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Ok(value.with_context(|| format!("the server does not tell {name}"))?.trim().parse()?)
}
