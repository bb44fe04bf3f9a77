//! Who the client is behind proxies: nothing that a client can write changes whom it is taken for.
//!
//! The first line is the networks that are trusted, the second where the connection comes from; all others are lines of the
//! forwarding header, `X-Forwarded-For` and `Forwarded` alike.

use std::net::IpAddr;

use http::{HeaderMap, HeaderValue};
use ipnet::IpNet;
use tidegate_wire::client_ip::{Prefixes, behind, canonical, client_ip, network};
use tidegate_wire::trust::{Grant, Peer, Trust};
use tidegate_wire::{Source, Trusted};

pub(crate) fn run(bytes: &[u8]) {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let text = |line: Option<&[u8]>| String::from_utf8_lossy(line.unwrap_or_default()).into_owned();
    let (written, peer) = (text(lines.next()), text(lines.next()));
    let networks: Vec<&str> = written.split(',').collect();
    let peer = peer.parse().unwrap_or(IpAddr::from([10, 0, 0, 1]));
    let lines: Vec<&[u8]> = lines.filter(|line| HeaderValue::from_bytes(line).is_ok()).collect();
    match Trusted::parse(&networks) {
        Ok(trusted) => {
            trusts_what_is_written(&trusted, &networks, peer);
            for source in [Source::XForwardedFor, Source::Forwarded] {
                cannot_be_fooled(&Case { peer, trusted: &trusted, source }, &lines);
            }
        }
        Err(wrong) => assert!(wrong.to_string().contains("write"), "{wrong}"),
    }
    let trusted = Trusted::parse(["10.0.0.0/8", "::1"]).expect("they are networks");
    for source in [Source::XForwardedFor, Source::Forwarded] {
        cannot_be_fooled(&Case { peer, trusted: &trusted, source }, &lines);
    }
}

struct Case<'t> {
    peer: IpAddr,
    trusted: &'t Trusted,
    source: Source,
}

impl Case<'_> {
    fn client(&self, lines: &[&[u8]]) -> IpAddr {
        client_ip(self.peer, &self.headers(lines), self.trusted, self.source)
    }

    fn headers(&self, lines: &[&[u8]]) -> HeaderMap {
        let name = match self.source {
            Source::XForwardedFor => "x-forwarded-for",
            Source::Forwarded => "forwarded",
        };
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name, HeaderValue::from_bytes(line).expect("they were looked at"));
        }
        headers
    }

    /// A hop as that header has it.
    fn hop(&self, address: IpAddr) -> String {
        match (self.source, address) {
            (Source::XForwardedFor, _) => address.to_string(),
            (Source::Forwarded, IpAddr::V4(_)) => format!("for={address}"),
            (Source::Forwarded, IpAddr::V6(_)) => format!("for=\"[{address}]\""),
        }
    }
}

/// Found by halving, or by looking at every network.
fn trusts_what_is_written(trusted: &Trusted, networks: &[&str], peer: IpAddr) {
    let contains = |written: &&str| match written.trim().parse::<IpAddr>() {
        Ok(address) => canonical(address) == canonical(peer),
        Err(_) => written.trim().parse::<IpNet>().is_ok_and(|network| {
            network.contains(&canonical(peer)) || network.contains(&mapped(canonical(peer)))
        }),
    };
    // A network of IPv6 that is wider than all mapped addresses holds them by its bits, and is not meant for them.
    let is_wide = |written: &&str| {
        written
            .trim()
            .parse::<IpNet>()
            .is_ok_and(|network| network.prefix_len() < 96 && network.addr().is_ipv6())
    };
    if !networks.iter().any(is_wide) {
        assert_eq!(trusted.contains(peer), networks.iter().any(contains), "{peer}");
    }
}

fn mapped(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(v4) => IpAddr::V6(v4.to_ipv6_mapped()),
        v6 @ IpAddr::V6(_) => v6,
    }
}

fn cannot_be_fooled(case: &Case<'_>, lines: &[&[u8]]) {
    let client = case.client(lines);
    assert_eq!(client, canonical(client), "an address has one form");
    if !case.trusted.contains(case.peer) {
        assert_eq!(client, canonical(case.peer), "whoever is not trusted is believed");
    }
    let counted = network(client, Prefixes::default());
    assert_eq!(counted, network(counted, Prefixes::default()), "a network is its own");
    claims_on_the_left_change_nothing(case, lines, client);
    what_a_proxy_appends_counts(case, lines);
    trust_says_the_same(case, lines);
}

/// Whoever is found is found whatever stands left of it, in the same line or in lines before.
fn claims_on_the_left_change_nothing(case: &Case<'_>, lines: &[&[u8]], client: IpAddr) {
    if case.trusted.contains(client) {
        return;
    }
    let claim = case.hop(IpAddr::from([6, 6, 6, 6]));
    let before = [&[claim.as_bytes()], lines].concat();
    assert_eq!(case.client(&before), client, "a line before changes it");
    if let Some((first, others)) = lines.split_first() {
        let longer = [claim.as_bytes(), b", ", first].concat();
        let within = [&[longer.as_slice()], others].concat();
        assert_eq!(case.client(&within), client, "a claim in the line changes it");
    }
}

/// A trusted peer that was called by somebody tells who that was.
fn what_a_proxy_appends_counts(case: &Case<'_>, lines: &[&[u8]]) {
    let caller = IpAddr::from([203, 0, 113, 7]);
    if case.trusted.contains(caller) {
        return;
    }
    let hop = case.hop(caller);
    let after = [lines, &[hop.as_bytes()]].concat();
    assert_eq!(
        behind(case.peer, &case.headers(&after), case.trusted, case.source),
        caller,
        "in a line of its own"
    );
    if let Some((last, others)) = lines.split_last() {
        let longer = [last, b", ".as_slice(), hop.as_bytes()].concat();
        let within = [others, &[longer.as_slice()]].concat();
        let found = behind(case.peer, &case.headers(&within), case.trusted, case.source);
        assert_eq!(found, caller, "behind {}", last.escape_ascii());
    }
}

/// What doors believe is what is found here.
fn trust_says_the_same(case: &Case<'_>, lines: &[&[u8]]) {
    if case.source == Source::Forwarded {
        return;
    }
    let trust = Trust::only_forwarded(vec![Grant::to_networks(case.trusted.clone())], ["org"]);
    let caller = trust.caller_at(Some(&Peer::at((case.peer, 1).into())));
    assert_eq!(caller.is_trusted(), case.trusted.contains(case.peer));
    assert_eq!(trust.ignores(caller, "org"), !caller.is_trusted());
    assert_eq!(trust.client(caller, &case.headers(lines)), Some(case.client(lines)));
}
