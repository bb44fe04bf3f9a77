use super::facts::Facts;
use super::*;

fn facts(info: &str, settings: &[(&'static str, &str)]) -> Facts {
    let mut facts = Facts::default();
    facts.take_info(info);
    facts.settings = settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    facts
}

const HEALTHY: &str = "redis_version:7.0.15\r\nrole:master\r\ncluster_enabled:0\r\nused_memory:2000000\r\n\
    used_memory_startup:1000000\r\nconnected_slaves:1\r\ndb0:keys=10000,expires=10000,avg_ttl=5\r\n";
const SET_UP: [(&str, &str); 6] = [
    ("maxmemory", "100000000"),
    ("maxmemory-policy", "volatile-ttl"),
    ("cluster-require-full-coverage", "no"),
    ("cluster-node-timeout", "1500"),
    ("save", ""),
    ("appendonly", "yes"),
];

fn found(facts: &Facts, is_cluster: bool) -> Vec<(Weight, String)> {
    judge::all(facts, is_cluster).into_iter().map(|finding| (finding.weight, finding.what)).collect()
}

#[test]
fn a_server_that_is_set_up_well_has_nothing_to_be_said_about() {
    let facts = facts(HEALTHY, &SET_UP);
    assert_eq!(found(&facts, false), []);
    assert_eq!(facts.keys(), Some((10_000, 100)));
    assert!(facts.shown().contains(&("keys", "10000, about 100 bytes each".to_owned())));
}

#[test]
fn each_trap_is_told_with_what_to_change() {
    let spoiled = |name: &'static str, value: &'static str| {
        let settings = SET_UP.map(|(other, kept)| (other, if other == name { value } else { kept }));
        facts(&HEALTHY.replace("cluster_enabled:0", "cluster_enabled:1"), &settings)
    };
    for (name, value, weight, says) in [
        ("maxmemory-policy", "allkeys-lru", Weight::Error, "allkeys-lru"),
        ("maxmemory-policy", "volatile-lru", Weight::Warning, "volatile-lru"),
        ("maxmemory", "0", Weight::Warning, "not set"),
        ("maxmemory", "2100000", Weight::Warning, "are used"),
        ("cluster-require-full-coverage", "yes", Weight::Error, "full-coverage"),
        ("cluster-node-timeout", "15000", Weight::Warning, "15000 ms"),
    ] {
        let all = judge::all(&spoiled(name, value), true);
        assert!(
            matches!(all.as_slice(), [one] if one.weight == weight && one.what.contains(says)),
            "{name} {value}: {all:?}"
        );
        assert!(!all[0].why.is_empty() && !all[0].change.is_empty());
    }
    let volatile = facts(
        &HEALTHY.replace("connected_slaves:1", "connected_slaves:0"),
        &SET_UP.map(|(name, value)| (name, if name == "appendonly" { "no" } else { value })),
    );
    assert_eq!(found(&volatile, false).len(), 1);
    assert_eq!(found(&facts(&HEALTHY.replace("7.0.15", "5.0.7"), &SET_UP), false)[0].0, Weight::Error);
    assert_eq!(
        found(&facts(&HEALTHY.replace("role:master", "role:slave"), &SET_UP), false)[0].0,
        Weight::Error
    );
    assert_eq!(found(&facts(HEALTHY, &SET_UP), true)[0].0, Weight::Error, "it is no Cluster");
}

#[test]
fn who_says_nothing_is_judged_by_nothing() {
    assert_eq!(found(&Facts::default(), true), []);
}
