//! `redis-cli` and `redis-benchmark`.

use super::{open, open_with, printed};
use crate::folder::Folder;
use crate::program::installed;

#[tokio::test]
async fn redis_cli_asks_as_it_asks_redis() {
    let (server, address) = open().await;
    let cli = installed("bin/redis-cli");
    let ask = async |words: &str| {
        let arguments: Vec<&str> = std::iter::once("--no-raw").chain(words.split(' ')).collect();
        printed(&cli, address, &arguments).await
    };
    let five = |numbers: [i64; 5]| {
        let line = |(place, number): (usize, i64)| format!("{}) (integer) {number}\n", place + 1);
        numbers.into_iter().enumerate().map(line).collect::<Vec<_>>().concat()
    };
    assert_eq!(ask("PING").await, "PONG\n");
    assert_eq!(ask("CL.THROTTLE user123 0 1 3600").await, five([0, 1, 0, -1, 3600]));
    assert_eq!(ask("CL.THROTTLE user123 0 1 3600 2").await, five([1, 1, 0, -1, 3600]));
    assert_eq!(ask("THROTTLE crab 2 1 3600").await, five([1, 2, 1, 3600, 0]));
    let checked = ask("TG.CHECK api api_key k1").await;
    assert!(checked.starts_with(" 1) (integer) 1\n"), "{checked}");
    assert!(checked.contains("\"per-key\"\n") && checked.contains("(nil)\n"), "{checked}");
    assert!(ask("TG.CHECK nowhere").await.ends_with("11) \"no-such-domain\"\n"));
    assert_eq!(server.left("k1").await, 2, "the rules count through all doors");
    let explained = ask("TG.EXPLAIN api api_key k1").await;
    assert!(explained.contains("+ per-key"), "{explained}");
    assert_eq!(ask("FLUSHALL").await, "(error) ERR unknown command 'FLUSHALL'\n");
    let greeted = ask("-3 HELLO 3").await;
    assert!(greeted.contains("1# \"server\" => \"tidegate\"\n"), "{greeted}");
    assert!(ask("INFO").await.contains("tidegate_version:"));
    assert!(ask("COMMAND DOCS cl.throttle").await.contains("redis-cell"));
}

#[tokio::test]
async fn redis_cli_sends_the_password() {
    let folder = Folder::new();
    let file = folder.path().join("password");
    std::fs::write(&file, "hunter2\n").unwrap();
    let (server, address) = open_with(&[("TIDEGATE_RESP_PASSWORD_FILE", file.to_str().unwrap())]).await;
    let cli = installed("bin/redis-cli");
    let with = async |arguments: &[&str]| printed(&cli, address, arguments).await;
    assert!(with(&["PING"]).await.starts_with("NOAUTH "));
    assert_eq!(with(&["--no-auth-warning", "-a", "hunter2", "PING"]).await, "PONG\n");
    assert_eq!(
        with(&["-3", "--no-auth-warning", "--user", "default", "--pass", "hunter2", "PING"]).await,
        "PONG\n"
    );
    assert!(!server.program.said().contains("hunter2"));
}

#[tokio::test]
async fn redis_benchmark_runs_with_and_without_pipelines() {
    let (server, address) = open().await;
    let benchmark = installed("bin/redis-benchmark");
    for pipelined in ["1", "16", "1000"] {
        let arguments = ["-n", "20000", "-c", "8", "-P", pipelined, "-r", "100", "-q", "-e"];
        let question = ["CL.THROTTLE", "key:__rand_int__", "9", "10", "60"];
        let said = printed(&benchmark, address, &[&arguments[..], &question].concat()).await;
        assert!(said.contains("requests per second") && !said.contains("ERR"), "{said}");
    }
    let metrics = server.metrics().await;
    let counted = metrics.lines().filter_map(|line| line.strip_prefix("ratelimit_throttles_total"));
    let counted: u64 = counted.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum();
    assert_eq!(counted, 60_000);
}
