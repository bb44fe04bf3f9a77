use super::*;

fn caller(trust: &Trust, peer: &str, headers: &HeaderMap) -> Caller {
    let mut extensions = Extensions::new();
    extensions.insert(Peer(peer.parse().unwrap()));
    trust.caller(&extensions, headers)
}

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

fn proxies() -> Trusted {
    Trusted::parse(["10.0.0.0/8"]).unwrap()
}

#[test]
fn everybody_is_believed_unless_somebody_is_named() {
    let trust = Trust::default();
    let nobody = trust.caller(&Extensions::new(), &HeaderMap::new());
    assert!(nobody.trusted && !trust.ignores(nobody, "org"));
    assert_eq!(trust.ignored().count(), 0);
}

#[test]
fn what_others_claim_is_ignored_by_all_its_names_and_counted() {
    let trust = Trust::only(proxies(), None, ["ip", "org", "header.x-plan", "org"]);
    let stranger = caller(&trust, "192.0.2.1:80", &HeaderMap::new());
    for claim in ["ip", "remote_address", "org", "header.X-Plan", "header.x-plan"] {
        assert!(trust.ignores(stranger, claim), "{claim}");
    }
    for claim in ["user", "Org", "x-plan", "api_key"] {
        assert!(!trust.ignores(stranger, claim), "{claim}");
    }
    assert_eq!(trust.ignored().collect::<Vec<_>>(), [("ip", 2), ("org", 1), ("header.x-plan", 2)]);
    let friend = caller(&trust, "[::ffff:10.0.0.1]:80", &HeaderMap::new());
    assert!(!trust.ignores(friend, "org"));
}

#[test]
fn a_request_that_came_from_nowhere_is_nobodys() {
    let trust = Trust::only(proxies(), None, ["org"]);
    let nobody = trust.caller(&Extensions::new(), &HeaderMap::new());
    assert_eq!(nobody, Caller { address: None, trusted: false });
    assert_eq!(trust.client(nobody, &headers(&[("x-forwarded-for", "192.0.2.9")])), None);
}

#[test]
fn a_proof_is_as_good_as_a_network() {
    let proof: Proof = Arc::new(|headers| headers.contains_key("x-proof"));
    let trust = Trust::only(proxies(), Some(proof), ["org"]);
    assert!(caller(&trust, "192.0.2.1:80", &headers(&[("x-proof", "yes")])).trusted);
    assert!(!caller(&trust, "192.0.2.1:80", &HeaderMap::new()).trusted);
}

#[test]
fn the_client_is_who_trusted_proxies_say() {
    let proof: Proof = Arc::new(|headers| headers.contains_key("x-proof"));
    let trust = Trust::only_forwarded(proxies(), Some(proof), ["org"]);
    let check = |peer: &str, told: &[(&'static str, &'static str)], expected: &str| {
        let headers = headers(told);
        let client = trust.client(caller(&trust, peer, &headers), &headers).unwrap();
        assert_eq!(client.to_string(), expected, "{peer} {told:?}");
    };
    let chain = ("x-forwarded-for", "198.51.100.1, 203.0.113.7, 10.0.0.2");
    check("10.0.0.1:80", &[chain], "203.0.113.7");
    check("10.0.0.1:80", &[], "10.0.0.1");
    check("192.0.2.1:80", &[chain], "192.0.2.1");
    check("192.0.2.1:80", &[chain, ("x-proof", "yes")], "203.0.113.7");
    assert_eq!(
        trust.ignored().map(|(attribute, _)| attribute).collect::<Vec<_>>(),
        ["org", "ip", "method", "path", "host", "scheme"]
    );
}
