//! Who we are: right, wrong, not at all, not allowed, and changed.

use tidegate_redis::Fault;
use tidegate_rig::{Options, Server};

use crate::stage::{client, client_with, count, fails_with, ready, recovers, turn, until};

fn guarded() -> Server {
    Server::with(&Options::default().line("requirepass", &"right"))
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_password_nothing_is_answered() {
    let _turn = turn().await;
    let server = guarded();
    let error = fails_with(&client(&server.url()), "a", Fault::Refused("NOAUTH")).await;
    assert!(!error.may_have_run);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_told_and_not_shown() {
    let _turn = turn().await;
    let server = guarded();
    let client = client(&format!("redis://:hunter2@{}", server.address()));
    let error = fails_with(&client, "a", Fault::Refused("WRONGPASS")).await;
    assert!(!format!("{error} {error:?} {:?}", client.report()).contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_with_a_right_password_may_and_one_without_rights_may_not() {
    let _turn = turn().await;
    let rights = ["tide on >p:w ~* +@all", "guest on >word ~* +ping +select"];
    let server = Server::with(&Options::default().line("user", &rights[0]).line("user", &rights[1]));
    let allowed = ready(client(&format!("redis://tide:p%3Aw@{}", server.address()))).await;
    assert_eq!(count(&allowed, "a").await, Ok(1));
    let guest = client(&format!("redis://guest:word@{}", server.address()));
    fails_with(&guest, "a", Fault::Refused("NOPERM")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_file_is_read_again_when_it_changes() {
    let _turn = turn().await;
    let server = Server::with(&Options::default().line("user", &"tide on >first ~* +@all"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, "wrong\n").unwrap();
    let url = format!("redis://tide@{}", server.address());
    let client = client_with(&url, |settings| settings.password_file = Some(file.clone()));
    fails_with(&client, "a", Fault::Refused("WRONGPASS")).await;
    std::fs::write(&file, "first\n").unwrap();
    recovers(&client, "a").await;

    // On a connection that exists, the new one is used before the server asks for it.
    server.ask::<()>(&["ACL", "SETUSER", "tide", "resetpass", ">second"]);
    let logins = || server.ask::<String>(&["INFO", "commandstats"]).lines().find_map(auths).unwrap();
    let before = logins();
    std::fs::write(&file, "second\n").unwrap();
    until("the new password to be used", async || (logins() > before).then_some(())).await;
    server.ask::<i64>(&["CLIENT", "KILL", "USER", "tide"]);
    recovers(&client, "a").await;
}

fn auths(line: &str) -> Option<u64> {
    line.strip_prefix("cmdstat_auth:calls=")?.split(',').next()?.parse().ok()
}
