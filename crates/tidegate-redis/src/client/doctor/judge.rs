//! What facts mean for counters.

use std::time::Duration;

use super::facts::Facts;
use super::{Finding, Weight};

/// The oldest version whose scripts are tested.
const OLDEST: (u32, u32) = (6, 2);
/// A server that needs longer than that in the middle leaves little of the deadline.
const SLOW: Duration = Duration::from_millis(2);
/// A Cluster that waits longer than that before it replaces a master.
const LONG_TIMEOUT_MS: u64 = 5_000;

/// Everything there is to say.
pub(super) fn all(facts: &Facts, is_cluster: bool) -> Vec<Finding> {
    let cluster = [full_coverage(facts), node_timeout(facts), replicas(facts)];
    let always = [
        version(facts),
        role(facts),
        mode(facts, is_cluster),
        memory(facts),
        policy(facts),
        persistence(facts),
        latency(facts),
    ];
    let mut found: Vec<Finding> = always.into_iter().flatten().collect();
    if is_cluster {
        found.extend(cluster.into_iter().flatten());
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    found
}

/// A server that does not answer.
pub(super) fn silent(patience: Duration) -> Finding {
    error(
        format!("the server did not answer within {} ms", patience.as_millis()),
        "counters that live there cannot be asked; its classes' policies decide instead",
        "check that it runs, that the address and the password are right, and that nothing on the way blocks it",
    )
}

fn version(facts: &Facts) -> Option<Finding> {
    let (is_valkey, version) = facts.version()?;
    let mut numbers = version.split('.').map_while(|part| part.parse::<u32>().ok());
    let found = (numbers.next()?, numbers.next().unwrap_or(0));
    (!is_valkey && found < OLDEST).then(|| {
        error(
            format!("Redis {version} is older than {}.{}", OLDEST.0, OLDEST.1),
            "scripts are not tested there, and may fail",
            "upgrade to Redis 6.2 or newer, or to Valkey",
        )
    })
}

fn role(facts: &Facts) -> Option<Finding> {
    (facts.get("role")? != "master").then(|| {
        error(
            "the server is a replica".to_owned(),
            "it refuses to write, so that nothing can be counted",
            "name the master, or use redis-sentinel:// or redis-cluster://, which find it",
        )
    })
}

fn mode(facts: &Facts, is_cluster: bool) -> Option<Finding> {
    let enabled = facts.get("cluster_enabled")? == "1";
    (enabled != is_cluster).then(|| {
        if enabled {
            error(
                "the server is part of a Cluster".to_owned(),
                "it answers for its own slots only",
                "write redis-cluster:// in place of redis://",
            )
        } else {
            error(
                "the server is not part of a Cluster".to_owned(),
                "it has no slots to be asked for",
                "write redis:// in place of redis-cluster://",
            )
        }
    })
}

fn memory(facts: &Facts) -> Option<Finding> {
    let most: u64 = facts.setting("maxmemory")?.parse().ok()?;
    let used = facts.number("used_memory")?;
    if most == 0 {
        return Some(warning(
            "maxmemory is not set".to_owned(),
            "a flood of keys takes all memory of the machine, and the system ends the server",
            "CONFIG SET maxmemory to what the machine can spare",
        ));
    }
    (used > most / 10 * 9).then(|| {
        warning(
            format!("{used} of {most} bytes of maxmemory are used"),
            "beyond it the server forgets counters, or refuses to write",
            "raise maxmemory, or give tenants servers of their own",
        )
    })
}

fn policy(facts: &Facts) -> Option<Finding> {
    let policy = facts.setting("maxmemory-policy")?;
    if policy.starts_with("allkeys") {
        return Some(error(
            format!("maxmemory-policy is {policy}"),
            "when memory is short any counter is forgotten, also slots of concurrency limits and callers at their limits",
            "CONFIG SET maxmemory-policy volatile-ttl: those go first that would end first anyway",
        ));
    }
    (policy != "volatile-ttl" && policy != "noeviction").then(|| {
        warning(
            format!("maxmemory-policy is {policy}"),
            "when memory is short counters are forgotten in an order that has nothing to do with their limits",
            "CONFIG SET maxmemory-policy volatile-ttl",
        )
    })
}

fn persistence(facts: &Facts) -> Option<Finding> {
    let (save, append) = (facts.setting("save")?, facts.setting("appendonly")?);
    let replicas = facts.number("connected_slaves").unwrap_or(0);
    (save.is_empty() && append == "no" && replicas == 0).then(|| {
        warning(
            "nothing is written to disk, and there is no replica".to_owned(),
            "a restart forgets every count; windows of an hour or more begin again from what nodes remember",
            "turn appendonly on (appendfsync everysec), or give the server a replica",
        )
    })
}

fn latency(facts: &Facts) -> Option<Finding> {
    let (middle, _) = facts.latency?;
    (middle > SLOW).then(|| {
        warning(
            format!("an answer takes {} us in the middle", middle.as_micros()),
            "little is left of a deadline of 10 ms, and every check waits that long",
            "bring the server nearer, or look at what else it does (SLOWLOG GET)",
        )
    })
}

fn full_coverage(facts: &Facts) -> Option<Finding> {
    (facts.setting("cluster-require-full-coverage")? == "yes").then(|| {
        error(
            "cluster-require-full-coverage is yes".to_owned(),
            "when one master fails all others refuse as well until it is replaced",
            "CONFIG SET cluster-require-full-coverage no, on every server",
        )
    })
}

fn node_timeout(facts: &Facts) -> Option<Finding> {
    let timeout: u64 = facts.setting("cluster-node-timeout")?.parse().ok()?;
    (timeout > LONG_TIMEOUT_MS).then(|| {
        warning(
            format!("cluster-node-timeout is {timeout} ms"),
            "a master that fails is replaced about one and a half times that later; until then nodes decide alone for its keys",
            "CONFIG SET cluster-node-timeout 1000 to 2000, on every server",
        )
    })
}

fn replicas(facts: &Facts) -> Option<Finding> {
    (facts.number("connected_slaves")? == 0).then(|| {
        warning(
            "the master has no replica".to_owned(),
            "nobody takes its place when it fails",
            "add a replica (CLUSTER REPLICATE)",
        )
    })
}

fn error(what: String, why: &str, change: &str) -> Finding {
    Finding { weight: Weight::Error, what, why: why.to_owned(), change: change.to_owned() }
}

fn warning(what: String, why: &str, change: &str) -> Finding {
    Finding { weight: Weight::Warning, what, why: why.to_owned(), change: change.to_owned() }
}
