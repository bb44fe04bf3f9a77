use super::*;
use crate::door::tests::door_to;
use crate::resp::Password;
use std::sync::Arc;
use tidegate_wire::client_ip::Trusted;
use tidegate_wire::trust::{Grant, Peer, Proof, Trust};

#[test]
fn a_claim_counts_if_whoever_makes_it_is_trusted() {
    let trust = Trust::only(vec![Grant::to_networks(Trusted::parse(["10.0.0.0/8"]).unwrap())], ["user"]);
    let (door, _) = door_to(Reference::new(), RULES, DoorSettings { trust, ..DoorSettings::default() });
    let service = Service::new(door.clone(), None);
    let mut friend = service.session_from(Some(Peer::at("10.0.0.1:1".parse().unwrap())));
    let mut stranger = service.session_from(Some(Peer::at("192.0.2.1:1".parse().unwrap())));
    for _ in 0..3 {
        let said = line(&mut stranger, "TG.CHECK api user alice");
        assert!(said.starts_with("*11 :1 :-1"), "no limit is asked: {said}");
    }
    assert!(!line(&mut stranger, "TG.EXPLAIN api user alice").contains("alice"));
    assert_eq!(door.settings().trust.ignored().collect::<Vec<_>>(), [("user", 4)]);
    let verdicts = [(); 3].map(|()| line(&mut friend, "TG.CHECK api user alice")[..6].to_owned());
    assert_eq!(verdicts, ["*11 :1", "*11 :1", "*11 :0"]);
}

#[test]
fn whoever_says_the_token_is_believed_and_let_in() {
    let token: Proof = Arc::new(|word| word == b"0123456789abcdef");
    let grant = Grant { attributes: Some(vec!["user".to_owned()]), ..Grant::to_token(token) };
    let trust = Trust::only(vec![grant], ["user", "org"]);
    let (door, _) = door_to(Reference::new(), RULES, DoorSettings { trust, ..DoorSettings::default() });
    let service = Service::new(door.clone(), Some(Password::new(b"hunter2")));
    let mut session = service.session();
    assert!(line(&mut session, "TG.CHECK api user alice").contains("NOAUTH"));
    assert_eq!(line(&mut session, "AUTH hunter2"), "+OK");
    assert!(line(&mut session, "TG.CHECK api user alice org acme").starts_with("*11 :1 :-1"));
    assert_eq!(door.settings().trust.ignored().collect::<Vec<_>>(), [("user", 1), ("org", 1)]);
    assert_eq!(line(&mut session, "AUTH default 0123456789abcdef"), "+OK");
    let verdicts = [(); 3].map(|()| line(&mut session, "TG.CHECK api user alice org acme")[..6].to_owned());
    assert_eq!(verdicts, ["*11 :1", "*11 :1", "*11 :0"]);
    assert_eq!(door.settings().trust.ignored().collect::<Vec<_>>(), [("user", 1), ("org", 4)]);
    assert_eq!(line(&mut session, "RESET"), "+RESET");
    assert!(line(&mut session, "TG.CHECK api user alice").contains("NOAUTH"), "it begins anew");
}

#[test]
fn a_wrong_token_is_said_and_counted_where_there_is_no_password() {
    let token: Proof = Arc::new(|word| word == b"0123456789abcdef");
    let trust = Trust::only(vec![Grant::to_token(token)], ["user"]);
    let (door, _) = door_to(Reference::new(), RULES, DoorSettings { trust, ..DoorSettings::default() });
    let service = Service::new(door, None);
    let mut session = service.session();
    for command in ["AUTH guess", "AUTH default guess", "HELLO 3 AUTH default guess"] {
        assert!(line(&mut session, command).contains("WRONGPASS"), "{command}");
    }
    assert_eq!(line(&mut session, "AUTH 0123456789abcdef"), "+OK");
}
