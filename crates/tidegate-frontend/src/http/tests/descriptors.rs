//! Checks of a domain whose rules are a tree of descriptors.

use super::*;

const TREE: &str = "
domain: mesh
descriptors:
  - { key: api_key, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - key: user
    descriptors:
      - { key: path, rate_limit: { unit: minute, requests_per_unit: 1 } }
";

fn attributes(pairs: &Value) -> Value {
    json!({ "domain": "mesh", "attributes": pairs })
}

#[tokio::test]
async fn an_attribute_meets_its_descriptor() {
    let (door, _) = door(TREE);
    let asked = attributes(&json!({ "api_key": "k1", "path": "/x" }));
    let back = post(&door, "/v1/check", &asked).await;
    assert_eq!((&back.body["limits"][0]["rule"], &back.body["warnings"]), (&json!("api_key"), &json!([])));
    assert_eq!(post(&door, "/v1/check", &asked).await.status, 429);
    let descriptors = json!({ "domain": "mesh", "descriptors": [[["api_key", "k1"]]] });
    assert_eq!(post(&door, "/v1/check", &descriptors).await.status, 429, "they count together");
    let request =
        Request::get("/v1/authorize?domain=mesh&header.x-api-key=api_key").header("x-api-key", "k1");
    assert_eq!(send(&door, request.body(Body::empty()).unwrap()).await.status, 429);
}

#[tokio::test]
async fn a_check_that_leads_nowhere_is_warned() {
    let (door, _) = door(TREE);
    for (asked, says) in [
        (
            attributes(&json!({ "user": "a", "path": "/x" })),
            "no attribute of the check is a limit at the top",
        ),
        (json!({ "domain": "mesh", "descriptors": [[["user", "a"]]] }), "no descriptor of the check leads"),
        (json!({ "domain": "mash" }), "the rules have no such domain"),
    ] {
        let back = post(&door, "/v1/check", asked).await;
        assert_eq!(back.status, 200);
        assert!(back.body["warnings"][0].as_str().unwrap().contains(says), "{}", back.body);
    }
    let request = Request::get("/v1/authorize?domain=mesh").body(Body::empty()).unwrap();
    let answer = router(door.clone()).oneshot(request).await.unwrap();
    let warning = answer.headers()["x-tidegate-warning"].to_str().unwrap();
    assert!(answer.status() == 200 && warning.contains("no attribute of the check"), "{warning}");
    let nested = json!({ "domain": "mesh", "descriptors": [[["user", "a"], ["path", "/x"]]] });
    assert_eq!(post(&door, "/v1/check", nested).await.body["warnings"], json!([]));
}
