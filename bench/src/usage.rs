//! What processes have used so far: microseconds of processor time, user and system together, and bytes.

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use tidegate_rig::Server;

/// Of a Redis server, as it says itself.
pub(crate) fn of_redis(server: &Server) -> Result<f64> {
    let text: String = server.ask(&["INFO", "cpu"]);
    Ok((field(&text, "used_cpu_user")? + field(&text, "used_cpu_sys")?) * 1e6)
}

/// The bytes that a Redis server has taken from its allocator.
pub(crate) fn bytes_of_redis(server: &Server) -> Result<f64> {
    field(&server.ask::<String>(&["INFO", "memory"]), "used_memory")
}

/// How many commands a Redis server has run, those of scripts among them.
pub(crate) fn commands_of_redis(server: &Server) -> Result<f64> {
    field(&server.ask::<String>(&["INFO", "stats"]), "total_commands_processed")
}

/// Of this process, with all its threads.
pub(crate) fn own() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Of another process: of all its threads that are there.
pub(crate) fn of_process(id: u32) -> Result<f64> {
    Ok(of_threads(id, "")?.iter().sum())
}

/// Of each thread of another process whose name begins so.
pub(crate) fn of_threads(id: u32, name: &str) -> Result<Vec<f64>> {
    let mut used = Vec::new();
    for thread in std::fs::read_dir(format!("/proc/{id}/task"))? {
        let read = |file: &str| -> String {
            let path = thread.as_ref().map(|thread| thread.path().join(file));
            path.ok().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
        };
        if read("comm").starts_with(name) {
            let nanoseconds = read("schedstat").split(' ').next().and_then(|used| used.parse::<f64>().ok());
            used.push(nanoseconds.unwrap_or_default() / 1e3);
        }
    }
    Ok(used)
}

fn field(text: &str, name: &str) -> Result<f64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Ok(value.with_context(|| format!("the server does not tell {name}"))?.trim().parse()?)
}
