//! Switches by the command line, on a real server.

use serde_json::{Value, json};

use crate::command_line::{Ended, run};
use crate::folder::Folder;
use crate::patience::until;
use crate::tidegate::Tidegate;

const RULES: &str = "domain: api
rules:
  - name: per-key
    by: [api_key]
    limit: 1/h
  - name: orders/write
    match: { path: /orders }
    limit: 5/h
    mode: shadow
";

/// A command about rules, on that server.
async fn rules(tidegate: &Tidegate, typed: &str) -> Ended {
    run(&tidegate.rules, &format!("rules {typed} --server http://{}", tidegate.admin)).await
}

#[tokio::test]
async fn a_rule_that_hurts_is_switched_off_and_on_again() {
    let tidegate = Tidegate::with(RULES).await;
    tidegate.check("k1").await.expect(200);
    tidegate.check("k1").await.expect(429);

    let off = rules(&tidegate, "off per-key --reason hurts").await;
    assert_eq!((off.code, off.printed.as_str()), (Some(0), "per-key of api: off (hurts)\n"), "{off:?}");
    assert!(off.said.contains("until it is taken back or restarted"), "{off:?}");
    tidegate.check("k1").await.expect(200);
    let logged =
        |line: &str| (line.contains("switched") && line.contains("127.0.0.1:")).then(|| line.to_owned());
    let line = tidegate.program.line("who switched what", logged).await;
    for part in ["per-key", "off", "hurts"] {
        assert!(line.contains(part), "{line}");
    }

    let listed = rules(&tidegate, "list").await;
    assert_eq!(
        listed.printed,
        "DOMAIN  RULE          MODE            WRITTEN  LIMITS\n\
         api     per-key       off (switched)  enforce  1/h\n\
         api     orders/write  shadow          shadow   5/h\n\
         \nSwitches:\n  per-key of api: off (hurts)\n",
        "{listed:?}"
    );
    let on = rules(&tidegate, "on per-key").await;
    assert_eq!((on.code, on.printed.as_str()), (Some(0), "per-key of api: as written\n"), "{on:?}");
    tidegate.check("k1").await.expect(429);
}

#[tokio::test]
async fn a_switch_outlives_changed_files_and_not_a_restart() {
    let tidegate = Tidegate::set_up(Folder::of(RULES), &[("TIDEGATE_ANSWERS_SHADOW", "true")]).await;
    assert_eq!(rules(&tidegate, "shadow --all --domain api").await.code, Some(0));
    tidegate.rules.replace("api.yaml", &RULES.replace("1/h", "2/h"));
    let changed = async || (tidegate.left("k1").await == 2).then_some(());
    until("the new limit", changed).await;
    for _ in 0..4 {
        tidegate.check("k1").await.expect(200);
    }
    let again = Tidegate::start(Folder::of(RULES)).await;
    let listed = rules(&again, "list --format json").await;
    let listed: Value = serde_json::from_str(&listed.printed).unwrap();
    assert_eq!(listed["switches"], json!([]));
}

#[tokio::test]
async fn a_switch_with_an_end_ends_by_itself() {
    let tidegate = Tidegate::with(RULES).await;
    tidegate.check("k1").await.expect(200);
    let off = rules(&tidegate, "off --all --for 1s").await;
    assert!(off.printed.starts_with("everything: off, ends in 1 s"), "{off:?}");
    let refused = async || (tidegate.check("k1").await.status == 429).then_some(());
    until("the end of the switch", refused).await;
    let ended = |line: &str| line.contains("switch ended").then_some(());
    tidegate.program.line("that it ended", ended).await;
}

#[tokio::test]
async fn names_with_slashes_and_wider_switches_are_told() {
    let tidegate = Tidegate::with(RULES).await;
    let set = rules(&tidegate, "enforce orders/write --for 10m --format json").await;
    let set: Value = serde_json::from_str(&set.printed).unwrap();
    let one = &set["switches"][0];
    assert_eq!((&one["rule"], &one["mode"]), (&json!("orders/write"), &json!("enforce")));
    assert!(one["ends_after_ms"].as_u64().is_some_and(|ms| (590_000..=600_000).contains(&ms)), "{one}");
    rules(&tidegate, "off --all").await;
    let on = rules(&tidegate, "on orders/write").await;
    assert!(on.said.contains("another switch still holds: everything: off"), "{on:?}");
    let all = rules(&tidegate, "on --all").await;
    assert_eq!((all.code, all.printed.as_str()), (Some(0), "everything: as written\n"), "{all:?}");
}

#[tokio::test]
async fn what_is_wrong_is_said_and_changes_nothing() {
    let tidegate = Tidegate::with(RULES).await;
    for (typed, code, says) in [
        ("off per-kye", 1, "did you mean `per-key`?"),
        ("off per-key --domain apo", 1, "did you mean `api`?"),
        ("off per-key --for 1y", 1, "`for` should be from 1s to 30d"),
        ("on per-key", 1, "there is no switch on the rule `per-key` of `api`"),
        ("off", 2, "required"),
        ("off per-key --all", 2, "cannot be used with"),
    ] {
        let ended = rules(&tidegate, typed).await;
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.said.contains(says) && ended.printed.is_empty(), "{ended:?}");
    }
    assert_eq!(tidegate.snapshot().await, 1);
}

#[tokio::test]
async fn on_all_asks_about_narrower_switches() {
    let tidegate = Tidegate::with(RULES).await;
    rules(&tidegate, "off per-key --reason hurts").await;
    let set = rules(&tidegate, "shadow --all").await;
    assert!(set.said.contains("a narrower switch still holds: per-key of api: off (hurts)"), "{set:?}");
    let asked = rules(&tidegate, "on --all").await;
    assert_eq!((asked.code, asked.printed.as_str()), (Some(2), ""), "{asked:?}");
    assert!(
        asked.said.contains("  per-key of api: off (hurts)\n") && asked.said.contains("--yes"),
        "{asked:?}"
    );
    let listed = rules(&tidegate, "list").await;
    assert!(listed.printed.contains("everything: shadow"), "nothing was changed: {listed:?}");
    let taken = rules(&tidegate, "on --all --yes").await;
    assert_eq!((taken.code, taken.printed.as_str()), (Some(0), "everything: as written\n"), "{taken:?}");
}

#[tokio::test]
async fn sole_domain_is_switched() {
    let tidegate = Tidegate::with(&RULES.replace("domain: api", "domain: shop")).await;
    let off = rules(&tidegate, "off per-key").await;
    assert_eq!((off.code, off.printed.as_str()), (Some(0), "per-key of shop: off\n"), "{off:?}");
}
