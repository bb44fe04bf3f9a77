//! Peers that would never be believed, or are believed anyway.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidegate_wire::Trusted;
use tidegate_wire::trust::FORWARDED;

use super::TrustedPeer;
use crate::config::{Config, Tls};

/// What would never come true, or is true already, is said before it is relied on.
pub(super) fn wrong(peer: &TrustedPeer, config: &Config) -> Vec<String> {
    let found = [unguarded(peer, config), open(peer, config), unproved(peer, config)];
    found.into_iter().flatten().collect()
}

/// Whether it is known by nothing but a network that everybody is in: one that has the first address and the last.
pub(super) fn is_everybody(peer: &TrustedPeer) -> bool {
    let holds_all = |networks: &Trusted| {
        let ends: [[IpAddr; 2]; 2] = [
            [Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::BROADCAST.into()],
            [Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::from([0xff; 16]).into()],
        ];
        ends.iter().any(|ends| ends.iter().all(|end| networks.contains(*end)))
    };
    peer.token_file.is_none() && peer.certificate.is_none() && peer.networks.as_ref().is_some_and(holds_all)
}

fn unguarded(peer: &TrustedPeer, config: &Config) -> Option<String> {
    let guarded =
        |name: &String| config.trust.attributes.contains(name) || FORWARDED.contains(&name.as_str());
    let name = peer.attributes.iter().flatten().find(|name| !guarded(name))?;
    Some(format!("`{name}` is none of trust.attributes, so everybody may state it; name it there as well"))
}

/// A door where everybody is believed; at forward-auth nobody else is.
fn open(peer: &TrustedPeer, config: &Config) -> Option<String> {
    let is_open = |door: &&&str| **door != "authorize" && !config.trust.doors.contains(*door);
    let door = peer.doors.iter().flatten().find(is_open)?;
    Some(format!(
        "a peer is trusted at `{door}`, where everybody is; name that door in trust.doors as well, or take it from the \
         doors of the peer"
    ))
}

fn unproved(peer: &TrustedPeer, config: &Config) -> Option<String> {
    peer.certificate.as_ref()?;
    if config.tls.files.client_authorities.is_none() {
        return Some(
            "a peer is known by its certificate, but nobody has to show one; set tls.client_authorities"
                .to_owned(),
        );
    }
    let door = unencrypted(peer, &config.tls)?;
    Some(format!(
        "a peer is known by its certificate at `{door}`, which is not encrypted, so that nobody can show one; name it in \
         tls.doors, or take it from the doors of the peer"
    ))
}

/// A door where it is to be known, and nobody can show a certificate. Who is known everywhere is known where one can be shown.
fn unencrypted(peer: &TrustedPeer, tls: &Tls) -> Option<&'static str> {
    let is_plain = |door: &&&'static str| !tls.covers(if **door == "authorize" { "http" } else { door });
    match &peer.doors {
        Some(doors) => doors.iter().find(is_plain).copied(),
        None if TrustedPeer::DOORS.iter().all(|door| is_plain(&door)) => Some(TrustedPeer::DOORS[0]),
        None => None,
    }
}
