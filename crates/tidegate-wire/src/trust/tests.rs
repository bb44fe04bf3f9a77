use super::*;

fn caller(trust: &Trust, peer: &str, headers: &HeaderMap) -> Caller {
    trust.caller(Some(&Peer::at(peer.parse().unwrap())), headers)
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
    let nobody = trust.caller(None, &HeaderMap::new());
    assert!(nobody.is_trusted() && !trust.ignores(nobody, "org"));
    assert_eq!(trust.ignored().count(), 0);
}

#[test]
fn what_others_claim_is_ignored_by_all_its_names_and_counted() {
    let trust = Trust::only(vec![Grant::to_networks(proxies())], ["ip", "org", "header.x-plan", "org"]);
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
    let trust = Trust::only(vec![Grant::to_networks(proxies())], ["org"]);
    let nobody = trust.caller(None, &HeaderMap::new());
    assert_eq!(nobody, Caller { address: None, may: May::NOTHING });
    assert_eq!(trust.client(nobody, &headers(&[("x-forwarded-for", "192.0.2.9")])), None);
}

#[test]
fn a_proof_is_as_good_as_a_network() {
    let token: Proof = Arc::new(|word| word == b"yes");
    let trust = Trust::only(vec![Grant::to_networks(proxies()), Grant::to_token(token)], ["org"]);
    assert!(caller(&trust, "192.0.2.1:80", &headers(&[("x-tidegate-token", "yes")])).is_trusted());
    assert!(!caller(&trust, "192.0.2.1:80", &HeaderMap::new()).is_trusted());
}

#[test]
fn the_client_is_who_trusted_proxies_say() {
    let token: Proof = Arc::new(|word| word == b"yes");
    let trust = Trust::only_forwarded(vec![Grant::to_networks(proxies()), Grant::to_token(token)], ["org"]);
    let check = |peer: &str, told: &[(&'static str, &'static str)], expected: &str| {
        let headers = headers(told);
        let client = trust.client(caller(&trust, peer, &headers), &headers).unwrap();
        assert_eq!(client.to_string(), expected, "{peer} {told:?}");
    };
    let chain = ("x-forwarded-for", "198.51.100.1, 203.0.113.7, 10.0.0.2");
    check("10.0.0.1:80", &[chain], "203.0.113.7");
    check("10.0.0.1:80", &[], "10.0.0.1");
    check("192.0.2.1:80", &[chain], "192.0.2.1");
    check("192.0.2.1:80", &[chain, ("x-tidegate-token", "yes")], "203.0.113.7");
    assert_eq!(
        trust.ignored().map(|(attribute, _)| attribute).collect::<Vec<_>>(),
        ["org", "ip", "method", "path", "host", "scheme"]
    );
}

fn states(trust: &Trust, caller: Caller) -> Vec<&'static str> {
    ["ip", "org", "plan"].into_iter().filter(|attribute| !trust.ignores(caller, attribute)).collect()
}

#[test]
fn each_is_believed_for_what_is_granted_and_grants_add_up() {
    let some = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
    let token: Proof = Arc::new(|word| word == b"yes");
    let networks = Grant { attributes: some(&["ip"]), ..Grant::to_networks(proxies()) };
    let both = Grant { token: Some(Arc::clone(&token)), attributes: some(&["plan"]), ..networks.clone() };
    let knowing = Grant { attributes: some(&["org"]), ..Grant::to_token(token) };
    let trust = Trust::only(vec![networks, both, knowing, Grant::default()], ["ip", "org", "plan"]);
    let yes = headers(&[("authorization", "bearer yes")]);
    for (peer, headers, expected) in [
        ("192.0.2.1:80", &HeaderMap::new(), &[][..]),
        ("10.0.0.1:80", &HeaderMap::new(), &["ip"]),
        ("192.0.2.1:80", &yes, &["org"]),
        ("10.0.0.1:80", &yes, &["ip", "org", "plan"]),
    ] {
        assert_eq!(states(&trust, caller(&trust, peer, headers)), expected, "{peer}");
    }
}

#[test]
fn a_certificate_is_known_by_a_name_or_by_its_fingerprint() {
    let shown = |certificate, attribute: &str| Grant {
        certificate: Some(certificate),
        attributes: Some(vec![attribute.to_owned()]),
        ..Grant::default()
    };
    let by_name = shown(Shown::Name("edge.example".to_owned()), "org");
    let by_hash = shown(Shown::Fingerprint([7; 32]), "plan");
    let trust = Trust::only(vec![by_name, by_hash], ["ip", "org", "plan"]);
    let expected = |names: &[&str], fingerprint| {
        let names = names.iter().map(ToString::to_string).collect();
        let certificate = Some(Certificate { names, fingerprint });
        let peer = Peer::showing("192.0.2.1:80".parse().unwrap(), certificate);
        states(&trust, trust.caller_at(Some(&peer)))
    };
    assert_eq!(expected(&["other", "Edge.Example"], [0; 32]), ["org"]);
    assert_eq!(expected(&["edge.example.org", "sha256:0707"], [7; 32]), ["plan"]);
    assert!(expected(&[], [0; 32]).is_empty());
}

/// The walk through `X-Forwarded-For` goes past those whose word counts for addresses, and no others.
#[test]
fn whoever_may_state_other_things_is_no_proxy() {
    let gateway = Grant {
        attributes: Some(vec!["org".to_owned()]),
        ..Grant::to_networks(Trusted::parse(["203.0.113.0/24"]).unwrap())
    };
    let trust = Trust::only_forwarded(vec![Grant::to_networks(proxies()), gateway], ["org"]);
    let chain = headers(&[("x-forwarded-for", "198.51.100.1, 203.0.113.7, 10.0.0.2")]);
    let client = |peer: &str| trust.client(caller(&trust, peer, &chain), &chain).unwrap().to_string();
    assert_eq!(client("10.0.0.1:80"), "203.0.113.7");
    assert_eq!(client("203.0.113.9:80"), "203.0.113.9");
}

/// Of a host that another one tells of, nobody knows whether it would have shown a token or a certificate.
#[test]
fn the_walk_ends_at_a_host_that_would_have_to_show_more_than_where_it_is() {
    let token: Proof = Arc::new(|word| word == b"yes");
    let networks = Some(Trusted::parse(["203.0.113.0/24"]).unwrap());
    let by_token = Grant { networks: networks.clone(), token: Some(token), ..Grant::default() };
    let certificate = Some(Shown::Name("edge.example".to_owned()));
    let by_certificate = Grant { networks, certificate, ..Grant::default() };
    for gateway in [by_token, by_certificate] {
        let trust = Trust::only_forwarded(vec![Grant::to_networks(proxies()), gateway], ["org"]);
        let chain = headers(&[("x-forwarded-for", "198.51.100.1, 203.0.113.7, 10.0.0.2")]);
        let client = trust.client(caller(&trust, "10.0.0.1:80", &chain), &chain).unwrap();
        assert_eq!(client.to_string(), "203.0.113.7");
    }
}
