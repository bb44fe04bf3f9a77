//! Where and with what the figures were made.

use std::fs;
use std::process::Command;

use crate::report::Table;

/// The lock file that this binary was built with: the true versions.
const LOCK: &str = include_str!("../Cargo.lock");

pub(crate) fn report() {
    let cores = std::thread::available_parallelism().map_or("unknown".into(), |cores| cores.to_string());
    let mut table = Table::new("", ["at the start of the run"]);
    let mut fact = |name: &str, value: String| table.row(&name, [value]);
    fact("command", command());
    fact("cpu", first_value("/proc/cpuinfo", "model name"));
    fact("cores", cores);
    fact("memory", first_value("/proc/meminfo", "MemTotal"));
    fact("load average", file("/proc/loadavg"));
    fact("kernel", file("/proc/sys/kernel/osrelease"));
    fact("huge pages", file("/sys/kernel/mm/transparent_hugepage/enabled"));
    fact("compiler", output("rustc", &["--version"]));
    fact(
        "tidegate",
        format!(
            "{} at {}",
            version("tidegate"),
            output("git", &["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty"])
        ),
    );
    for peer in ["governor", "throttlecrab", "limitador", "dashmap"] {
        fact(peer, version(peer));
    }
    println!("# Tidegate beside its peers\n\n{table}");
}

/// What was typed, without where the program lies.
fn command() -> String {
    let words = std::env::args().skip(1);
    std::iter::once(env!("CARGO_PKG_NAME").to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn version(package: &str) -> String {
    let entry = format!("name = \"{package}\"\nversion = \"");
    let found = LOCK.split_once(&entry).and_then(|(_, rest)| rest.split('"').next());
    found.unwrap_or("unknown").to_owned()
}

fn file(path: &str) -> String {
    fs::read_to_string(path).map_or("unknown".into(), |text| text.trim().to_owned())
}

fn first_value(path: &str, field: &str) -> String {
    let text = file(path);
    let line = text.lines().find(|line| line.starts_with(field));
    line.and_then(|line| line.split_once(':')).map_or("unknown".into(), |(_, value)| value.trim().to_owned())
}

fn output(program: &str, arguments: &[&str]) -> String {
    let run = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success());
    run.map_or("unknown".into(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
