//! The script for k6 that users run against their server: it is content with ours, and notices a limit that is another.

use tokio::process::Command;

use crate::folder::Folder;
use crate::program::{Program, installed, root};
use crate::tidegate::{Tidegate, serve};
use crate::together::turn;

/// What k6 ends with if a threshold is crossed.
const CROSSED: i32 = 99;

/// Some of its callers, without pauses, whatever time they take; the exit code and what was said.
async fn run(limit: &str) -> (Option<i32>, String) {
    let _turn = turn().await;
    let rules = root().join("examples/rules");
    let tidegate = Tidegate::from(serve(&[], Some(&rules)), Folder::new()).await;
    let mut k6 = Command::new(installed("bin/k6"));
    k6.args(["run", "--quiet", "--no-color", "--no-usage-report", "--address", "127.0.0.1:0"]);
    k6.args(["--vus", "4", "--iterations", "200"]).arg(root().join("bench/k6.js"));
    k6.env("TIDEGATE_URL", format!("http://{}", tidegate.http)).env("LIMIT", limit);
    k6.envs([("PAUSE_MS", "0"), ("P95_MS", "60000")]);
    Program::start(k6).end().await
}

#[tokio::test]
async fn it_is_content_with_the_rules_of_make_run() {
    let (code, said) = run("5").await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("100.00% 200 out of 200"), "{said}");
}

#[tokio::test]
async fn it_notices_another_limit() {
    let (code, said) = run("6").await;
    assert_eq!(code, Some(CROSSED), "{said}");
    assert!(said.contains("'as_the_limit_says' have been crossed"), "{said}");
}
