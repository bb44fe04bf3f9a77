//! Files of envoyproxy/ratelimit work as they are.

use serde_json::json;

use crate::envoy::{Envoy, Settings, header};
use crate::tidegate::Tidegate;

/// Windows of a year: no test runs into the end of one.
const TREE: &str = "
domain: api
descriptors:
  - key: database
    value: users
    rate_limit:
      unit: year
      requests_per_unit: 2
  - key: database
    rate_limit:
      unit: YEAR
      requests_per_unit: 1
  - key: database
    value: free
    rate_limit:
      unlimited: true
  - key: database
    value: closed
    rate_limit:
      unit: second
      requests_per_unit: 0
  - key: database
    value: watched
    shadow_mode: true
    rate_limit:
      unit: year
      requests_per_unit: 1
  - key: database
    value: 'temporary-*'
    share_threshold: true
    rate_limit:
      name: temporary
      unit: year
      requests_per_unit: 2
  - key: database
    value: nested
    descriptors:
      - key: table
        rate_limit:
          unit: year
          requests_per_unit: 1
";

async fn start(entries: &[&str]) -> (Tidegate, Envoy) {
    let tidegate = Tidegate::with(TREE).await;
    let actions: Vec<_> = entries.iter().map(|key| header(&format!("x-{key}"), key)).collect();
    let envoy = Envoy::start(tidegate.grpc, &Settings::actions(&json!(actions)).on_route()).await;
    (tidegate, envoy)
}

async fn statuses(envoy: &Envoy, databases: &[&str]) -> Vec<u16> {
    let mut statuses = Vec::new();
    for database in databases {
        statuses.push(envoy.get("/", &[("x-database", database)]).await.status);
    }
    statuses
}

#[tokio::test]
async fn a_tree_of_envoyproxy_ratelimit_limits_as_it_says() {
    let (_tidegate, envoy) = start(&["database"]).await;
    assert_eq!(statuses(&envoy, &["users", "users", "users"]).await, [200, 200, 429]);
    assert_eq!(
        statuses(&envoy, &["a", "a", "b"]).await,
        [200, 429, 200],
        "each other value has a counter of its own"
    );
    assert_eq!(statuses(&envoy, &["free", "free", "free"]).await, [200, 200, 200]);
    assert_eq!(statuses(&envoy, &["closed"]).await, [429], "0 per unit refuses everything");
    assert_eq!(statuses(&envoy, &["watched", "watched"]).await, [200, 200], "shadow_mode refuses nothing");
    let shared = ["temporary-1", "temporary-2", "temporary-3"];
    assert_eq!(statuses(&envoy, &shared).await, [200, 200, 429], "a shared threshold is one counter");
    assert_eq!(statuses(&envoy, &["nested", "nested"]).await, [200, 200], "a node without a limit has none");
}

#[tokio::test]
async fn a_nested_descriptor_counts_each_of_its_values() {
    let (_tidegate, envoy) = start(&["database", "table"]).await;
    let ask =
        async |table: &str| envoy.get("/", &[("x-database", "nested"), ("x-table", table)]).await.status;
    assert_eq!(ask("orders").await, 200);
    assert_eq!(ask("orders").await, 429);
    assert_eq!(ask("lines").await, 200);
}

#[tokio::test]
async fn trees_and_our_own_rules_stand_side_by_side() {
    let both = "
domain: api
rules:
  - name: per-key
    by: [api_key]
    limit: 2/h
descriptors:
  - key: generic_key
    value: slow
    rate_limit:
      unit: year
      requests_per_unit: 3
";
    let tidegate = Tidegate::with(both).await;
    let slow = json!({ "generic_key": { "descriptor_value": "slow" } });
    let limits = json!([{ "actions": [header("x-api-key", "api_key")] }, { "actions": [slow] }]);
    let envoy = Envoy::start(tidegate.grpc, &Settings::rate_limits(limits).on_route()).await;
    let mut statuses = Vec::new();
    for key in ["k1", "k1", "k1", "k2", "k3"] {
        statuses.push(envoy.ask(key).await.status);
    }
    assert_eq!(statuses, [200, 200, 429, 200, 429]);
}
