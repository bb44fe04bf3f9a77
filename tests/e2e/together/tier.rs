//! A tier with a server of its own: whatever way a request takes, its tenant's counters are there and nowhere else.

use serde_json::{Value, json};
use tidegate_rig::Server;

use super::turn;
use crate::folder::Folder;
use crate::tidegate::Tidegate;

const RULES: &str = "
domain: api
tenant: org
rules:
  - { name: daily, by: [api_key], limit: 30/d, tiers: { pro: [100/d] } }
  - { name: slots, by: [org], limit: 2 concurrent }
";

fn asking(org: &str, plan: &str, cost: u64) -> Value {
    json!({ "domain": "api", "attributes": { "org": org, "api_key": "k1", "plan": plan }, "cost": cost })
}

fn id(answer: &Value) -> &str {
    answer["id"].as_str().unwrap()
}

fn left(answer: &Value) -> u64 {
    let limits = answer["limits"].as_array().unwrap();
    limits.iter().find(|limit| limit["rule"] == "daily").unwrap()["remaining"].as_u64().unwrap()
}

/// Keys of counters; those of marks, members and tickets are not.
fn counters(server: &Server) -> usize {
    let keys: Vec<String> = server.ask(&["KEYS", "*"]);
    keys.iter()
        .filter(|key| !key.ends_with("mark") && !key.ends_with("{members}") && !key.ends_with('i'))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tiers_counters_live_on_its_own_server_and_a_tenant_with_another_goes_there() {
    let _turn = turn().await;
    let [all, pro, acme] = std::array::from_fn(|_| Server::start());
    let folder = Folder::new();
    let stores = format!("\"api/*?plan=pro\": \"{}\", api/acme: \"{}\"", pro.url(), acme.url());
    folder.write("tidegate.yaml", &format!("store: {}\nstores: {{ {stores} }}\n", all.url()));
    let file = folder.file("tidegate.yaml");
    let settings = [("TIDEGATE_CONFIG", file.to_str().unwrap()), ("TIDEGATE_REDIS_DEADLINE", "2s")];
    let node = Tidegate::set_up(Folder::of(RULES), &settings).await;
    let post =
        async |path: &str, body: Value, status: u16| node.post(path, &body).await.expect(status).json();

    // Every short way comes to the same counters.
    let held = post("/v1/check", asking("beta", "pro", 1), 200).await;
    assert_eq!((left(&held), held["state"].as_str()), (99, Some("exact")));
    post("/v1/renew", json!({ "id": id(&held) }), 200).await;
    post("/v1/release", json!({ "id": id(&held) }), 200).await;
    let reserved = post("/v1/reserve", asking("beta", "pro", 2), 200).await;
    post("/v1/commit", json!({ "id": id(&reserved), "cost": 1 }), 200).await;
    let reserved = post("/v1/reserve", asking("beta", "pro", 2), 200).await;
    post("/v1/cancel", json!({ "id": id(&reserved) }), 200).await;
    assert_eq!(left(&post("/v1/peek", asking("beta", "pro", 1), 200).await), 98);
    post("/v1/refund", asking("beta", "pro", 1), 200).await;
    assert_eq!(left(&post("/v1/peek", asking("beta", "pro", 1), 200).await), 99);
    assert_eq!([&all, &pro, &acme].map(counters), [0, 1, 0]);

    // In another tier it begins anew, elsewhere; a tenant with servers of its own is there in every tier.
    assert_eq!(left(&post("/v1/peek", asking("beta", "free", 1), 200).await), 30);
    post("/v1/check", asking("beta", "free", 1), 200).await;
    assert!(counters(&all) > 0 && counters(&acme) == 0);
    for plan in ["pro", "free"] {
        post("/v1/check", asking("acme", plan, 1), 200).await;
    }
    assert_eq!(counters(&pro), 1);
    assert!(counters(&acme) > 2, "both tiers");
}
