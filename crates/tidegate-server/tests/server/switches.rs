//! Rules that are switched while the server runs.

use crate::world::{World, ask, ask_from};

const PATH: &str = "/admin/v1/switches";

/// How many of three checks with one key pass; the limit is two.
async fn passing(world: &World, key: &str) -> usize {
    let mut passed = 0;
    for _ in 0..3 {
        passed += usize::from(world.check(key).await.status == 200);
    }
    passed
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_is_switched_off_and_on_again_and_everybody_is_told() {
    let world = World::new().await;
    assert_eq!(passing(&world, "k1").await, 2);
    let path = format!("{PATH}/api/per-key");
    let off = ask(world.admin(), "PUT", &path, r#"{"mode": "off", "reason": "it hurts"}"#).await;
    assert_eq!(off.status, 200, "{}", off.body);
    for part in [r#""domain":"api""#, r#""rule":"per-key""#, r#""mode":"off""#, r#""version":2"#, "it hurts"]
    {
        assert!(off.body.contains(part), "{part} is not in {}", off.body);
    }
    assert!(off.body.contains(r#""by":"127.0.0.1:"#), "{}", off.body);
    assert_eq!(passing(&world, "k1").await, 3);
    let told = [
        ("GET", "/admin/v1/rules", r#""mode":"off""#),
        ("GET", "/admin/v1/rules", r#""written_mode":"enforce""#),
        ("GET", PATH, r#""rules":1"#),
        ("GET", "/metrics", "ratelimit_switched_rules{mode=\"off\"} 1\n"),
        ("GET", "/metrics", "ratelimit_switches 1\n"),
        ("POST", "/admin/v1/explain", r#""switched_to":"off""#),
    ];
    for (method, path, part) in told {
        let answer = ask(world.admin(), method, path, r#"{"domain": "api"}"#).await;
        assert!(answer.body.contains(part), "{part} is not in {}", answer.body);
    }
    let on = ask(world.admin(), "DELETE", &path, "").await;
    assert!(on.status == 200 && on.body.contains(r#""switches":[]"#), "{}", on.body);
    assert_eq!(passing(&world, "k1").await, 0, "what was counted before counts again");
}

#[tokio::test(flavor = "multi_thread")]
async fn domains_and_everything_can_be_switched_and_taken_back_with_their_parts() {
    let world = World::new().await;
    let put = async |path: &str, mode: &str| {
        let body = format!(r#"{{"mode": "{mode}"}}"#);
        ask(world.admin(), "PUT", &format!("{PATH}{path}"), &body).await.status
    };
    assert_eq!(put("", "off").await, 200);
    assert_eq!(passing(&world, "k1").await, 3);
    assert_eq!(put("/api", "shadow").await, 200);
    assert_eq!(passing(&world, "k1").await, 3);
    assert_eq!(put("/api/per-key", "enforce").await, 200);
    assert_eq!(passing(&world, "k2").await, 2, "the narrowest has the say");
    assert_eq!(ask(world.admin(), "DELETE", &format!("{PATH}/api"), "").await.status, 200);
    assert_eq!(passing(&world, "k3").await, 3, "everything is still off");
    let back = ask(world.admin(), "DELETE", PATH, "").await;
    assert!(back.body.contains(r#""switches":[]"#), "{}", back.body);
    assert_eq!(passing(&world, "k4").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switch_outlives_a_reading_of_other_rules() {
    let world = World::new().await;
    let rules = "domain: api\nrules:\n- { name: per/key, by: [api_key], limit: 2/min }\n";
    world.write("api.yaml", rules);
    assert_eq!(ask(world.admin(), "POST", "/admin/v1/reload", "").await.status, 200);
    let path = format!("{PATH}/api/per%2Fkey");
    assert_eq!(ask(world.admin(), "PUT", &path, r#"{"mode": "off"}"#).await.status, 200);
    world.write("api.yaml", &rules.replace("2/min", "1/min"));
    assert_eq!(ask(world.admin(), "POST", "/admin/v1/reload", "").await.status, 200);
    assert_eq!(passing(&world, "k1").await, 3);
    world.write("api.yaml", &rules.replace("per/key", "other"));
    assert_eq!(ask(world.admin(), "POST", "/admin/v1/reload", "").await.status, 200);
    assert_eq!(passing(&world, "k1").await, 2, "another rule is not switched");
    let listed = ask(world.admin(), "GET", PATH, "").await.body;
    for part in [r#""rule":"per/key""#, r#""rules":0"#] {
        assert!(listed.contains(part), "it is kept, and told: {listed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_changes_nothing() {
    let world = World::new().await;
    for (method, path, body, status) in [
        ("PUT", "/api/per-kye", r#"{"mode": "off"}"#, 404),
        ("PUT", "/apo", r#"{"mode": "off"}"#, 404),
        ("PUT", "", r#"{"mode": "maybe"}"#, 400),
        ("PUT", "", "rubbish", 400),
        ("PUT", "/api/per-key", r#"{"mode": "off", "for": "1y"}"#, 400),
        ("DELETE", "", "", 404),
        ("DELETE", "/api/per-key", "", 404),
        ("POST", "", r#"{"mode": "off"}"#, 405),
    ] {
        let answer = ask(world.admin(), method, &format!("{PATH}{path}"), body).await;
        assert_eq!(answer.status, status, "{method} {path} {body}: {}", answer.body);
    }
    let foreign = ask_from(world.admin(), "http://evil.example", "PUT", PATH, r#"{"mode": "off"}"#).await;
    assert_eq!(foreign.status, 403, "{}", foreign.body);
    let listed = ask(world.admin(), "GET", PATH, "").await.body;
    assert!(listed.contains(r#""switches":[]"#) && listed.contains(r#""version":1"#), "{listed}");
    assert_eq!(passing(&world, "k1").await, 2);
}
