//! Who we are: right, wrong, not at all, not allowed, and changed.

use std::time::Duration;

use tidegate_core::{Idempotency, Key, Limit, Plan, Rate, Ticket, Timestamp};
use tidegate_redis::{Fault, Heartbeat, Marks, Redis, Settings};
use tidegate_rig::{Options, Server};
use tidegate_store::{AtEnd, Hold, Store as _};

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

/// The line of the documents that says which rights are needed.
fn documented_rights() -> &'static str {
    let guide = include_str!("../../../../docs/guides/redis.md");
    guide.lines().find_map(|line| line.strip_prefix("user tidegate ")).unwrap()
}

fn plan(ticket: u128, limits: &[Limit]) -> Plan {
    let mut plan = Plan::new();
    plan.set_ticket(Ticket(ticket));
    for (number, limit) in (0..).zip(limits) {
        plan.charge(Key { home: &[b"acme"], own: &[&[number]] }, *limit, 1).unwrap();
    }
    plan
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rights_that_are_documented_are_enough() {
    let _turn = turn().await;
    let server = Server::with(&Options::default().line("user", &format!("tidegate {}", documented_rights())));
    let url = format!("redis://tidegate:word@{}", server.address());
    let client = ready(client_with(&url, |settings| settings.scripts = tidegate_redis::scripts())).await;
    let store = Redis::new(client, &Settings::default());
    let minute = Duration::from_secs(60);
    let few = [Limit::gcra(Rate::new(600, minute).unwrap(), 600).unwrap(); 4];
    let all = [few[0], Limit::sliding_log(50, minute).unwrap(), Limit::concurrency(50, minute).unwrap()];
    for ticket in 0..20 {
        for limits in [&few[..1], &few, &all] {
            assert!(store.decide(&plan(ticket, limits), Timestamp::ZERO).await.unwrap().allowed());
        }
    }
    let mut named = plan(77, &all);
    let key = Key { home: &[b"acme"], own: &[b"request"] }.encode().unwrap();
    named.set_idempotency(Idempotency { key, keep_us: 1_000_000, asked: None });
    let hold = Hold { term_us: 5_000_000, at_end: AtEnd::GiveBack };
    assert!(store.reserve(&named, hold, Timestamp::ZERO).await.unwrap().allowed());
    store.cancel(Ticket(77), Timestamp::ZERO).await.unwrap();
    let mut beat = Heartbeat { id: "1".into(), told: "here".into(), term: minute };
    assert_eq!(store.beat(&beat).await.unwrap().members.len(), 1);
    beat.told.clear();
    store.beat(&beat).await.unwrap();
    for _ in 0..2 {
        assert!(store.look(&mut Marks::default(), "mark").await.silent.is_empty());
    }
}

fn auths(line: &str) -> Option<u64> {
    line.strip_prefix("cmdstat_auth:calls=")?.split(',').next()?.parse().ok()
}
