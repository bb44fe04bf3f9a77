use super::*;
use crate::config::{Shown, Tls, TlsFiles, Trust};

fn said(config: &Config) -> String {
    check(config).unwrap_err().to_string()
}

fn trusting(peer: TrustedPeer) -> Config {
    let trust = Trust { peers: vec![peer], doors: vec!["http", "resp", "grpc"], ..Trust::default() };
    Config { trust, ..Config::default() }
}

fn certified() -> TrustedPeer {
    TrustedPeer { certificate: Some(Shown::Name("edge.example".to_owned())), ..TrustedPeer::default() }
}

#[test]
fn certificates_that_must_be_shown_need_somebody_to_vouch_for_them() {
    let mut config = Config::default();
    check(&config).unwrap();
    config.given.insert("tls.clients");
    assert!(said(&config).starts_with("tls.clients: nobody is asked for a certificate"));
    config.tls.files.clients = ClientCertificates::Optional;
    check(&config).unwrap();
    let files = TlsFiles { client_authorities: Some("ca.crt".into()), ..TlsFiles::default() };
    config.tls = Tls { files, ..Tls::default() };
    check(&config).unwrap();
}

#[test]
fn doors_that_should_be_encrypted_need_a_certificate() {
    let mut config = Config::default();
    config.given.insert("tls.doors");
    assert!(said(&config).contains("set tls.certificate and tls.private_key"));
    config.tls.files.certificate = Some("server.crt".into());
    check(&config).unwrap();
}

#[test]
fn a_peer_is_trusted_only_where_not_everybody_is() {
    let at = |doors: &[&'static str], guarded: &[&'static str]| {
        let networks = Some(tidegate_wire::Trusted::parse(["10.0.0.0/8"]).unwrap());
        let doors = Some(doors.to_vec());
        let mut config = trusting(TrustedPeer { networks, doors, ..TrustedPeer::default() });
        config.trust.doors = guarded.to_vec();
        check(&config).map_err(|error| error.to_string())
    };
    assert_eq!(at(&["authorize"], &[]), Ok(()), "which is always guarded");
    assert_eq!(at(&["http", "resp"], &["http", "resp"]), Ok(()));
    for (doors, guarded, open) in [
        (&["http"][..], &[][..], "http"),
        (&["grpc"], &["http"], "grpc"),
        (&["authorize", "resp"], &[], "resp"),
    ] {
        let error = at(doors, guarded).unwrap_err();
        assert!(error.contains(&format!("trusted at `{open}`, where everybody is")), "{error}");
    }
}

#[test]
fn what_would_never_come_true_is_said() {
    let named = TrustedPeer { attributes: Some(vec!["country".to_owned()]), ..TrustedPeer::default() };
    assert!(said(&trusting(named)).contains("`country` is none of trust.attributes"));
    assert!(said(&trusting(certified())).contains("tls.client_authorities"));
}

#[test]
fn all_of_it_is_said_at_once() {
    let attributes = Some(vec!["country".to_owned()]);
    let mut config = trusting(TrustedPeer { attributes, ..certified() });
    config.given.extend(["tls.clients", "tls.doors"]);
    config.listen.admin = Some(([0, 0, 0, 0], 6070).into());
    let error = check(&config).unwrap_err();
    assert!(error.is_configuration());
    assert_eq!(error.each().len(), 5, "{error}");
    assert_eq!(error.to_string().lines().count(), 5);
}

#[test]
fn a_certificate_is_shown_only_where_a_door_is_encrypted() {
    let read = |encrypted: &[&'static str], known_at: Option<&[&'static str]>| {
        let doors = known_at.map(<[_]>::to_vec);
        let mut config = trusting(TrustedPeer { doors, ..certified() });
        let files = TlsFiles {
            certificate: Some("server.crt".into()),
            client_authorities: Some("ca.crt".into()),
            ..TlsFiles::default()
        };
        config.tls = Tls { files, doors: encrypted.to_vec() };
        check(&config).map_err(|error| error.to_string())
    };
    assert_eq!(read(&["grpc"], None), Ok(()), "it is known where it can be");
    assert_eq!(read(&["http", "resp"], Some(&["authorize", "resp"])), Ok(()));
    for (encrypted, known_at, plain) in [
        (&["admin"][..], None, "authorize"),
        (&["http"], Some(&["http", "grpc"][..]), "grpc"),
        (&["grpc"], Some(&["authorize"]), "authorize"),
    ] {
        let error = read(encrypted, known_at).unwrap_err();
        assert!(error.contains(&format!("at `{plain}`, which is not encrypted")), "{error}");
    }
}

#[test]
fn doors_that_are_off_and_set_up_are_noticed() {
    let mut config = Config::default();
    config.tls.files.certificate = Some("server.crt".into());
    assert_eq!(idle(&config), [], "the Redis protocol is off and encrypted, both by default");
    config.given.insert("tls.doors");
    config.trust.doors = vec!["http", "resp"];
    config.http_token = Some("token".into());
    assert_eq!(idle(&config), [("tls.doors", "resp"), ("trust.doors", "resp")]);
    config.listen.http = None;
    config.listen.resp = Some(([127, 0, 0, 1], 6380).into());
    assert_eq!(idle(&config), [("tls.doors", "http"), ("trust.doors", "http"), ("http.token_file", "http")]);
}

#[test]
fn a_network_that_everybody_is_in_is_noticed_unless_something_else_must_be_shown() {
    let of = |networks: &[&str]| TrustedPeer::in_networks(tidegate_wire::Trusted::parse(networks).unwrap());
    for all in [&["0.0.0.0/0"][..], &["::/0"], &["10.0.0.0/8", "::/0"], &["0.0.0.0/1", "128.0.0.0/1"]] {
        assert!(peers::is_everybody(&of(all)), "{all:?}");
        assert!(!peers::is_everybody(&TrustedPeer { token_file: Some("token".into()), ..of(all) }));
    }
    assert!(!peers::is_everybody(&of(&["10.0.0.0/8", "fc00::/7"])));
    assert!(!peers::is_everybody(&certified()));
}

#[test]
fn tells_open_public_doors() {
    let open = |config: &Config| open_doors(config).iter().map(|(door, ..)| *door).collect::<Vec<_>>();
    let mut config = Config::default();
    assert_eq!(open(&config), ["grpc", "http"], "a default server listens everywhere");
    config.listen.resp = Some(([192, 0, 2, 1], 6380).into());
    config.http_token = Some("token".into());
    assert_eq!(open(&config), ["grpc", "resp"]);
    config.resp.password_file = Some("password".into());
    config.listen.grpc = Some(([127, 0, 0, 1], 8081).into());
    assert_eq!(open(&config), [""; 0]);
    let certificate = Some("server.crt".into());
    let client_authorities = Some("ca.crt".into());
    let files = TlsFiles { certificate, client_authorities, ..TlsFiles::default() };
    let tls = Tls { files, ..Tls::default() };
    assert_eq!(open(&Config { tls, ..Config::default() }), [""; 0], "certificates are proof");
}
