use super::*;
use crate::client_ip::Trusted;
use crate::door::tests::door_to;
use crate::trust::Trust;

#[test]
fn a_claim_counts_if_whoever_makes_it_is_trusted() {
    let trust = Trust::only(Trusted::parse(["10.0.0.0/8"]).unwrap(), None, ["user"]);
    let (door, _) = door_to(Reference::new(), RULES, DoorSettings { trust, ..DoorSettings::default() });
    let service = Service::new(door.clone(), None);
    let mut friend = service.session_from(Some("10.0.0.1".parse().unwrap()));
    let mut stranger = service.session_from(Some("192.0.2.1".parse().unwrap()));
    for _ in 0..3 {
        let said = line(&mut stranger, "TG.CHECK api user alice");
        assert!(said.starts_with("*10 :1 :-1"), "no limit is asked: {said}");
    }
    assert!(!line(&mut stranger, "TG.EXPLAIN api user alice").contains("alice"));
    assert_eq!(door.settings().trust.ignored().collect::<Vec<_>>(), [("user", 4)]);
    let verdicts = [(); 3].map(|()| line(&mut friend, "TG.CHECK api user alice")[..6].to_owned());
    assert_eq!(verdicts, ["*10 :1", "*10 :1", "*10 :0"]);
}
