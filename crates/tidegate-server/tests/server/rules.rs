//! Rules that change while the server runs.

use std::fs;
use std::os::unix::fs::symlink;

use tidegate_server::Config;

use crate::world::{RULES, World, ask, config, until};

const BAD: &str = "domain: api\nrules:\n- { name: per-key, by: [api_key], limt: 2/min }\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_is_in_force_without_being_asked_for_and_counters_stay() {
    let world = World::new().await;
    assert_eq!(world.check("k1").await.status, 200);
    world.write("api.yaml", &RULES.replace("2/min", "1/min"));
    until(world.admin(), "/admin/v1/snapshot", |answer| answer.body.contains(r#""version":2"#)).await;
    let refused = world.check("k1").await;
    assert_eq!(refused.status, 429);
    assert!(refused.body.contains(r#""snapshot":2"#), "{}", refused.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_keeps_its_last_good_version_and_that_is_told() {
    let world = World::new().await;
    world.write("api.yaml", BAD);
    let answer = ask(world.admin(), "POST", "/admin/v1/reload", "").await;
    assert_eq!(answer.status, 422, "{}", answer.body);
    let rules = ask(world.admin(), "GET", "/admin/v1/rules", "").await.body;
    for part in [
        r#""state":"last_good""#,
        r#""code":"unknown-key""#,
        "did you mean `limit`?",
        r#""line":3"#,
        r#""version":1"#,
        r#""name":"per-key""#,
        r#""limit":"2/min""#,
    ] {
        assert!(rules.contains(part), "{part} is not in {rules}");
    }
    assert!(rules.contains("api.yaml:3:35: a rule has no key `limt`"), "{rules}");
    let metrics = ask(world.admin(), "GET", "/metrics", "").await.body;
    assert!(metrics.contains("ratelimit_rule_files{state=\"last_good\"} 1\n"), "{metrics}");
    assert_eq!(world.check("k1").await.status, 200);

    world.write("api.yaml", RULES);
    let answer = ask(world.admin(), "POST", "/admin/v1/reload", "").await;
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains(r#""last_error":null"#), "{}", answer.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_of_kubernetes_links_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (version, limit) in [("..1", "2/min"), ("..2", "9/min")] {
        fs::create_dir(path(version)).unwrap();
        fs::write(path(version).join("api.yaml"), RULES.replace("2/min", limit)).unwrap();
    }
    symlink("..1", path("..data")).unwrap();
    symlink("..data/api.yaml", path("api.yaml")).unwrap();
    let world = World::with(|config| config.rules = Some(folder.path().to_owned())).await;
    symlink("..2", path("..data_tmp")).unwrap();
    fs::rename(path("..data_tmp"), path("..data")).unwrap();
    until(world.admin(), "/admin/v1/rules", |answer| answer.body.contains(r#""limit":"9/min""#)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_file_takes_its_rules_along() {
    let world = World::new().await;
    fs::remove_file(world.file("api.yaml")).unwrap();
    until(world.admin(), "/admin/v1/snapshot", |answer| answer.body.contains(r#""rules":0"#)).await;
    for _ in 0..3 {
        assert_eq!(world.check("k1").await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_rules_are_configuration_errors() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("api.yaml"), BAD).unwrap();
    for (path, says) in [("", "did you mean `limit`?"), ("absent", "cannot read the rules")] {
        let config = Config { rules: Some(folder.path().join(path)), ..config() };
        let error = tidegate_server::start(&config).await.err().unwrap();
        assert!(error.is_configuration() && error.to_string().contains(says), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_rules_everything_passes() {
    let server = tidegate_server::start(&config()).await.unwrap();
    let line = server.curl().await.unwrap();
    assert!(line.contains(r#""domain":"demo""#), "{line}");
    let check = r#"{"domain": "demo", "attributes": {"user": "alice"}}"#;
    let answer = ask(server.addresses().http.unwrap(), "POST", "/v1/check", check).await;
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains(r#""reason":"no-such-domain""#), "{}", answer.body);
}

/// The decisions of all rules together, and the line of those that have none of their own.
async fn decisions(world: &World) -> (u64, u64) {
    let metrics = ask(world.admin(), "GET", "/metrics", "").await.body;
    let counts = metrics.lines().filter_map(|line| {
        let (labels, count) = line.strip_prefix("ratelimit_decisions_total")?.rsplit_once(' ')?;
        Some((labels.contains(r#"rule="other""#), count.parse::<u64>().unwrap()))
    });
    counts.fold((0, 0), |(all, other), (is_other, count)| {
        (all + count, other + if is_other { count } else { 0 })
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_renamed_rule_counted_is_kept_among_the_others() {
    let world = World::new().await;
    for (round, name) in ["per-key", "renamed", "per-key", "again"].into_iter().enumerate() {
        world.write("api.yaml", &RULES.replace("per-key", name));
        assert_eq!(ask(world.admin(), "POST", "/admin/v1/reload", "").await.status, 200);
        let checked = u64::try_from(round).unwrap() * 2;
        assert_eq!(decisions(&world).await, (checked, checked));
        world.check("k1").await;
        // Nobody looks between the second check and the next name.
        assert_eq!(decisions(&world).await, (checked + 1, checked));
        world.check("k2").await;
    }
}
