//! schemathesis asks what the documents allow and what they do not, with all of its checks and a fixed seed. It says what
//! it found by its exit code.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::process::Command;

use crate::folder::Folder;
use crate::program::{installed, root};
use crate::tidegate::Tidegate;
use crate::together::turn;

use super::RULES;

const CEILING: Duration = Duration::from_secs(180);

async fn finds_nothing((door, path): (SocketAddr, &str), config: &str, arguments: &[&str]) {
    let _turn = turn().await;
    let folder = Folder::new();
    let mut command = Command::new(installed("schemathesis/bin/schemathesis"));
    command.current_dir(folder.path()).kill_on_drop(true);
    command.arg("--config-file").arg(root().join("tests/e2e/openapi").join(config));
    command.args(["run", &format!("http://{door}{path}"), "--no-color", "--seed", "6070"]).args(arguments);
    let output = tokio::time::timeout(CEILING, command.output()).await.expect("it ends in time").unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("generated") && !said.contains("No test cases"), "it asked nothing: {said}");
}

#[tokio::test]
async fn it_finds_nothing_at_the_http_door() {
    let tidegate = Tidegate::with(RULES).await;
    finds_nothing((tidegate.http, "/openapi.json"), "http.toml", &["--max-examples", "10"]).await;
    tidegate.check("after all").await.expect(200);
}

#[tokio::test]
async fn it_finds_nothing_at_the_admin_door() {
    let tidegate = Tidegate::with(RULES).await;
    finds_nothing((tidegate.admin, "/admin/openapi.json"), "admin.toml", &["--max-examples", "15"]).await;
}

/// Who does not show the token, or another, is answered 401 everywhere.
#[tokio::test]
async fn it_finds_nothing_where_a_token_is_wanted() {
    let folder = Folder::new();
    let file = folder.path().join("token");
    std::fs::write(&file, "0123456789abcdef\n").unwrap();
    let settings = [("TIDEGATE_HTTP_TOKEN_FILE", file.to_str().unwrap())];
    let tidegate = Tidegate::set_up(Folder::of(RULES), &settings).await;
    let token = ["--header", "Authorization: Bearer 0123456789abcdef", "--max-examples", "2"];
    finds_nothing((tidegate.http, "/openapi.json"), "http.toml", &token).await;
}
