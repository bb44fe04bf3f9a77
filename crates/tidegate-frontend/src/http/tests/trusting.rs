use super::*;
use tidegate_wire::client_ip::Trusted;
use tidegate_wire::trust::{Grant, Peer, Trust};

const BY_ORG: &str = "domain: api\nrules:\n- { name: per-org, by: [org], limit: 1/min }\n\
    - { name: per-address, by: [ip], limit: 1/min }";

/// What somebody at an address is told the second time it asks.
async fn second(peer: &str, path: &str, body: &Value) -> Back {
    let gateways = Trusted::parse(["10.0.0.0/8"]).unwrap();
    let trust = Trust::only(vec![Grant::to_networks(gateways)], ["org", "ip"]);
    let settings = DoorSettings { trust, ..DoorSettings::default() };
    let (door, _) = door_to(Reference::new(), BY_ORG, settings);
    let request = || {
        let request = Request::post(path).extension(Peer::at(peer.parse().unwrap()));
        request.body(Body::from(body.to_string())).unwrap()
    };
    send(&door, request()).await;
    send(&door, request()).await
}

#[tokio::test]
async fn a_claim_counts_if_whoever_makes_it_is_trusted() {
    let claims = [
        ("/v1/check", json!({ "domain": "api", "attributes": { "org": "acme" } })),
        ("/v1/check", json!({ "domain": "api", "descriptors": [[["remote_address", "192.0.2.7"]]] })),
        ("/v1/reserve", json!({ "domain": "api", "attributes": { "ip": "192.0.2.7" } })),
        (
            "/json",
            json!({ "domain": "api", "descriptors": [{ "entries": [{ "key": "org", "value": "acme" }] }] }),
        ),
    ];
    for (path, body) in claims {
        assert_eq!(second("10.0.0.1:1", path, &body).await.status, 429, "{path} {body}");
        assert_eq!(second("192.0.2.1:1", path, &body).await.status, 200, "{path} {body}");
    }
}

#[tokio::test]
async fn each_of_a_batch_is_asked_for_its_claims() {
    let acme = json!({ "domain": "api", "attributes": { "org": "acme" } });
    let batch = json!([acme, acme]);
    assert_eq!(statuses(&second("10.0.0.1:1", "/v1/check", &batch).await), [429, 429]);
    assert_eq!(statuses(&second("192.0.2.1:1", "/v1/check", &batch).await), [200, 200]);
}
