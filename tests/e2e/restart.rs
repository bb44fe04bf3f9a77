//! Restarts: what was used of long windows stays used.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::folder::Folder;
use crate::patience::until;
use crate::program::Program;
use crate::tidegate::{Tidegate, serve};

/// Quotas in a slot, in a wide slot, in a log and in a window in many parts, and a short window.
const RULES: &str = "
domain: api
rules:
  - { name: short, by: [api_key], limit: { amount: 1000, per: 59m } }
  - { name: daily, by: [api_key], limit: 10/day }
  - { name: monthly, by: [api_key], limit: 20/month tz UTC }
  - { name: log, by: [api_key], limit: { amount: 30, per: 1d, algorithm: sliding_log } }
  - { name: parts, by: [api_key], limit: { amount: 4000000, per: 1d, algorithm: sliding_window, parts: 24 } }
";

/// Where one server after the other keeps its counters.
struct State(Folder);

impl State {
    fn new() -> Self {
        Self(Folder::new())
    }

    fn file(&self) -> PathBuf {
        self.0.file("state/counters")
    }

    fn refused(&self) -> PathBuf {
        self.0.file("state/counters.refused")
    }

    async fn serve(&self, every: &str) -> Tidegate {
        let path = self.file().into_os_string().into_string().unwrap();
        let settings = [
            ("TIDEGATE_CHECKPOINT_PATH", path.as_str()),
            ("TIDEGATE_CHECKPOINT_EVERY", every),
            ("TIDEGATE_SHUTDOWN_LAME_DUCK", "0"),
        ];
        Tidegate::set_up(Folder::of(RULES), &settings).await
    }
}

/// What is left of each rule for a key.
async fn left(tidegate: &Tidegate, api_key: &str) -> Vec<(String, u64)> {
    let answer = tidegate.post("/v1/peek", crate::tidegate::of(api_key)).await.expect(200).json();
    let limits = answer["limits"].as_array().unwrap();
    let row = |limit: &serde_json::Value| {
        (limit["rule"].as_str().unwrap().to_owned(), limit["remaining"].as_u64().unwrap())
    };
    limits.iter().map(row).collect()
}

/// What is left after so many checks, of which the short window knows so many.
fn after(checks: u64, short: u64) -> Vec<(String, u64)> {
    let amounts =
        [("short", 1000 - short), ("daily", 10 - checks), ("monthly", 20 - checks), ("log", 30 - checks)];
    let rows = amounts.into_iter().chain([("parts", 4_000_000 - checks)]);
    rows.map(|(rule, left)| (rule.to_owned(), left)).collect()
}

async fn metric(tidegate: &Tidegate, name: &str) -> Option<u64> {
    let metrics = tidegate.metrics().await;
    let line = metrics.lines().find(|line| line.split(' ').next() == Some(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

async fn terminate(tidegate: Tidegate) -> String {
    tidegate.program.signal("TERM").await;
    let (code, said) = tidegate.program.end().await;
    assert_eq!(code, Some(0), "{said}");
    said
}

#[tokio::test]
async fn what_was_used_of_long_windows_survives_a_stop_and_short_ones_begin_anew() {
    let state = State::new();
    let tidegate = state.serve("1h").await;
    for _ in 0..5 {
        tidegate.check("sk_live_1").await.expect(200);
    }
    assert_eq!(left(&tidegate, "sk_live_1").await, after(5, 5));
    let said = terminate(tidegate).await;
    assert!(said.contains("counters saved"), "{said}");
    let mode = fs::metadata(state.file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "for nobody else's eyes");
    let kept = fs::read(state.file()).unwrap();
    assert!(!kept.windows(9).any(|bytes| bytes == b"sk_live_1"), "no key is in it");

    for round in 0..2 {
        let tidegate = state.serve("1h").await;
        let restored = |line: &str| line.contains("counters restored").then_some(());
        tidegate.program.line("what was restored", restored).await;
        assert_eq!(metric(&tidegate, "ratelimit_checkpoint_restored").await, Some(4));
        assert_eq!(left(&tidegate, "sk_live_1").await, after(5 + round, 0));
        assert_eq!(left(&tidegate, "sk_live_2").await, after(0, 0));
        tidegate.check("sk_live_1").await.expect(200);
        terminate(tidegate).await;
    }
}

#[tokio::test]
async fn a_crash_loses_no_more_than_what_came_after_the_last_save() {
    let state = State::new();
    let mut tidegate = state.serve("100ms").await;
    for _ in 0..4 {
        tidegate.check("k1").await.expect(200);
    }
    let saves = metric(&tidegate, "ratelimit_checkpoint_saves_total").await.unwrap();
    // One may have begun before the checks; the one after it has them all.
    until("two more saves", async || {
        (metric(&tidegate, "ratelimit_checkpoint_saves_total").await? >= saves + 2).then_some(())
    })
    .await;
    assert_eq!(metric(&tidegate, "ratelimit_checkpoint_counters").await, Some(4));
    assert_eq!(metric(&tidegate, "ratelimit_checkpoint_failures_total").await, Some(0));
    for _ in 0..3 {
        tidegate.check("k1").await.expect(200);
    }
    tidegate.program.kill().await;

    let tidegate = state.serve("1h").await;
    let daily = left(&tidegate, "k1").await[1].1;
    assert!((3..=6).contains(&daily), "{daily} of 10 are left after 4 to 7");
}

#[tokio::test]
async fn what_cannot_be_used_is_said_and_kept_aside_and_counters_begin_anew() {
    let state = State::new();
    let tidegate = state.serve("1h").await;
    tidegate.check("k1").await.expect(200);
    terminate(tidegate).await;
    let good = fs::read(state.file()).unwrap();
    let mut other_version = good.clone();
    other_version[8] = 99;
    let mut changed = good.clone();
    changed[good.len() / 2] ^= 1;
    let torn = good[..good.len() - 5].to_vec();

    let bad = [
        (torn, "torn"),
        (other_version, "version 99"),
        (changed, "damaged"),
        (b"x".repeat(99), "no checkpoint"),
    ];
    for (file, word) in bad {
        fs::write(state.file(), &file).unwrap();
        let mut tidegate = state.serve("1h").await;
        let refused = |line: &str| (line.contains("checkpoint refused") && line.contains(word)).then_some(());
        tidegate.program.line(word, refused).await;
        assert_eq!(left(&tidegate, "k1").await, after(0, 0), "{word}");
        assert_eq!(fs::read(state.refused()).unwrap(), file, "{word}");
        assert!(!state.file().exists(), "{word}");
        tidegate.program.kill().await;
    }
}

#[tokio::test]
async fn off_leaves_no_file() {
    let home = Folder::new();
    let rules = Folder::of(RULES);
    let mut command = serve(&["--checkpoint", "off"], Some(rules.path()));
    command.env("HOME", home.path()).env("XDG_STATE_HOME", home.path()).env("STATE_DIRECTORY", home.path());
    command.env("TIDEGATE_CHECKPOINT_EVERY", "100ms").env("TIDEGATE_SHUTDOWN_LAME_DUCK", "0");
    let tidegate = Tidegate::from(command, rules).await;
    tidegate.check("k1").await.expect(200);
    assert!(!tidegate.metrics().await.contains("checkpoint"));
    terminate(tidegate).await;
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn unless_it_is_told_otherwise_the_services_folder_is_used() {
    let folder = Folder::new();
    let rules = Folder::of(RULES);
    let mut command = serve(&["--checkpoint", "auto"], Some(rules.path()));
    command.env("STATE_DIRECTORY", folder.path()).env("TIDEGATE_SHUTDOWN_LAME_DUCK", "0");
    let tidegate = Tidegate::from(command, rules).await;
    terminate(tidegate).await;
    assert!(folder.file("counters.checkpoint").exists());
}

#[tokio::test]
async fn a_second_server_on_the_same_file_says_so_and_serves_without() {
    let state = State::new();
    let first = state.serve("1h").await;
    let second = state.serve("1h").await;
    let busy = |line: &str| (line.contains("another server") && line.contains("--checkpoint")).then_some(());
    second.program.line("that another server has it", busy).await;
    second.check("k1").await.expect(200);
    terminate(second).await;
    assert!(!state.file().exists(), "only the first one writes");
    terminate(first).await;
    assert!(state.file().exists());
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_said_once_and_it_serves_without() {
    let folder = Folder::new();
    folder.write("blocked", "a file, no folder");
    let path = folder.file("blocked/counters").into_os_string().into_string().unwrap();
    let program = Program::start(serve(&["--checkpoint", &path], None));
    crate::tidegate::door(&program, "http").await;
    let said = program.said();
    assert_eq!(said.matches("will not survive a restart").count(), 1, "{said}");
}
