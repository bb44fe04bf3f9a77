//! What settings cannot say by themselves: whether they go together. What somebody relies on and would have no effect is an
//! error; what is probably not meant is a line in the log.

mod peers;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use super::{ClientCertificates, Config, TrustedPeer};
use crate::error::Error;

/// Everything that stops a server before it starts.
pub(crate) fn check(config: &Config) -> Result<(), Error> {
    let whole = [exposed(config), without_door(config), nobody_asked(config), nothing_encrypted(config)];
    let peers = config.trust.peers.iter().flat_map(|peer| peers::wrong(peer, config));
    let peers = peers.map(|reason| Error::Trust { reason });
    Error::every(whole.into_iter().flatten().chain(peers).map(Err::<(), _>)).map(drop)
}

/// Says in the log what does not.
pub(crate) fn warn(config: &Config) {
    for (setting, door) in idle(config) {
        tracing::warn!(setting, door, "this door is off");
    }
    if config.trust.peers.iter().any(peers::is_everybody) {
        let hint = "name the networks of your proxies, or a token or a certificate beside them";
        tracing::warn!(setting = "trust.peers", hint, "everybody is trusted, and may choose an address");
    }
}

/// Says which doors are open to other machines without any proof.
pub(crate) fn warn_of_open_doors(config: &Config) {
    for (door, address, setting) in open_doors(config) {
        let hint = format!("set {setting}, or listen on a loopback address");
        tracing::warn!(door, addr = %address, hint, "this door is open to other machines and asks for no proof");
    }
}

/// Whether nobody gets to the admin door who has not shown a certificate.
pub(crate) fn admin_wants_certificates(config: &Config) -> bool {
    config.tls.covers("admin") && config.tls.asks_clients()
}

fn exposed(config: &Config) -> Option<Error> {
    let proves = config.admin_token.is_some() || admin_wants_certificates(config);
    let address = config.listen.admin.filter(|address| !address.ip().is_loopback() && !proves)?;
    Some(Error::AdminExposed { address })
}

fn without_door(config: &Config) -> Option<Error> {
    let doors = [config.listen.grpc, config.listen.http, config.listen.resp];
    doors.iter().all(Option::is_none).then_some(Error::NoDoor)
}

fn nobody_asked(config: &Config) -> Option<Error> {
    let is_meant =
        config.given.contains("tls.clients") && config.tls.files.clients == ClientCertificates::Required;
    (is_meant && config.tls.files.client_authorities.is_none()).then_some(Error::NoEffect {
        setting: "tls.clients",
        reason: "nobody is asked for a certificate without authorities that vouch for it; set tls.client_authorities, or \
                 leave tls.clients out",
    })
}

fn nothing_encrypted(config: &Config) -> Option<Error> {
    let is_meant = config.given.contains("tls.doors");
    (is_meant && config.tls.files.certificate.is_none()).then_some(Error::NoEffect {
        setting: "tls.doors",
        reason: "no door is encrypted without a certificate; set tls.certificate and tls.private_key, or leave tls.doors out",
    })
}

/// Doors on addresses that other machines reach, whose callers need neither a token, a password nor a certificate; and the
/// setting that changes it.
fn open_doors(config: &Config) -> Vec<(&'static str, SocketAddr, &'static str)> {
    let (listen, tls) = (&config.listen, &config.tls);
    let doors = [
        ("grpc", listen.grpc, "tls.client_authorities", false),
        ("http", listen.http, "http.token_file", config.http_token.is_some()),
        ("resp", listen.resp, "resp.password_file", config.resp.password_file.is_some()),
    ];
    let is_open = |door: &str, proves: bool| !(proves || tls.covers(door) && tls.asks_clients());
    let doors = doors.into_iter().filter(|(door, .., proves)| is_open(door, *proves));
    doors
        .filter_map(|(door, address, setting, _)| Some((door, address?, setting)))
        .filter(|(_, address, _)| !address.ip().is_loopback())
        .collect()
}

/// Settings of doors that are off, and those doors.
fn idle(config: &Config) -> Vec<(&'static str, &'static str)> {
    let listen = &config.listen;
    let is_off = |door: &str| match door {
        "grpc" => listen.grpc.is_none(),
        "http" => listen.http.is_none(),
        "resp" => listen.resp.is_none(),
        _ => listen.admin.is_none(),
    };
    let encrypted = config.tls.doors.iter().filter(|_| config.given.contains("tls.doors"));
    let encrypted = encrypted.map(|door| ("tls.doors", *door));
    let guarded = config.trust.doors.iter().map(|door| ("trust.doors", *door));
    let kept = [
        ("http.token_file", "http", &config.http_token),
        ("resp.password_file", "resp", &config.resp.password_file),
        ("admin.token_file", "admin", &config.admin_token),
    ];
    let kept = kept.into_iter().filter(|(.., file)| file.is_some()).map(|(setting, door, _)| (setting, door));
    encrypted.chain(guarded).chain(kept).filter(|(_, door)| is_off(door)).collect()
}
