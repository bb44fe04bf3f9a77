//! Doors that are not the one that was meant, do not speak plain HTTP, or want to know who asks; and what a server prints to try.

use tidegate_rig::certificates;
use tokio::process::Command;

use super::{run, run_with};
use crate::folder::Folder;
use crate::patience::within;
use crate::program::Program;
use crate::tidegate::{Tidegate, tidegate};

const RULES: &str = "domain: api\nrules:\n  - name: per-key\n    by: [api_key]\n    limit: 2/h\n";

#[tokio::test]
async fn a_token_that_is_missing_is_told_from_one_that_is_not_accepted() {
    let folder = Folder::of(RULES);
    folder.write("token", "0123456789abcdef\n");
    folder.write("other", "fedcba9876543210\n");
    let file = folder.file("token");
    let settings =
        ["TIDEGATE_ADMIN_TOKEN_FILE", "TIDEGATE_HTTP_TOKEN_FILE"].map(|name| (name, file.to_str().unwrap()));
    let server = Tidegate::set_up(folder, &settings).await;
    for command in
        [format!("rules list --server {}", server.admin), format!("check --server {} a=b", server.http)]
    {
        let missing = run(&server.rules, &command).await;
        assert_eq!(missing.code, Some(4), "{missing:?}");
        assert!(missing.said.contains("wants a token\nhint: "), "{missing:?}");
        let wrong = run_with(&server.rules, &[("TIDEGATE_TOKEN_FILE", "other")], &command).await;
        assert_eq!(wrong.code, Some(4), "{wrong:?}");
        assert!(
            wrong.said.contains("does not accept the token") && !wrong.said.contains("fedcba"),
            "{wrong:?}"
        );
        let right = run_with(&server.rules, &[("TIDEGATE_TOKEN_FILE", "token")], &command).await;
        assert_eq!(right.code, Some(0), "{right:?}");
    }
}

#[tokio::test]
async fn another_door_is_told_from_something_that_is_not_there() {
    let server = Tidegate::with(RULES).await;
    for command in ["nodes", "rules list", "rules off per-key", "explain path=/x"] {
        let ended = run(&server.rules, &format!("{command} --server {}", server.http)).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.said.contains("is not the admin door of a server\nhint: "), "{ended:?}");
    }
    let ended = run(&server.rules, &format!("check --server {} a=b", server.admin)).await;
    assert!(ended.said.contains("is not the HTTP door of a server"), "{ended:?}");
    let ended = run(&server.rules, &format!("rules off nothing --server {}", server.admin)).await;
    assert!(ended.said.contains("the server answered 404: "), "{ended:?}");
}

/// What a server with all doors protected says to try, once it is ready.
async fn greeting(folder: &Folder) -> (Program, String) {
    let mut command = tidegate(&["serve", "--config", "tidegate.yaml"]);
    command.current_dir(folder.path());
    let program = Program::start(command);
    let last = |line: &str| line.starts_with("Metrics and the rules in force: ").then_some(());
    program.line("where metrics are", last).await;
    let said = program.said();
    (program, said)
}

#[tokio::test]
async fn what_a_server_prints_to_try_works_at_protected_doors() {
    let (folder, files) = (Folder::new(), certificates());
    for name in ["server.crt", "server.key", "ca.crt"] {
        std::fs::copy(files.path().join(name), folder.file(name)).unwrap();
    }
    folder.write("token", "0123456789abcdef\n");
    folder.write(
        "tidegate.yaml",
        "listen: { grpc: off, http: 127.0.0.1:0, resp: 127.0.0.1:0, admin: 0.0.0.0:0 }\nhttp: { token_file: token }\n\
         admin: { token_file: token }\nresp: { password_file: token }\ncheckpoint: { path: off }\n\
         tls: { certificate: server.crt, private_key: server.key, doors: [http, resp, grpc] }\n",
    );
    let (_server, said) = greeting(&folder).await;
    assert!(said.contains("add --cacert FILE"), "{said}");
    assert!(said.contains("Metrics and the rules in force: http://127.0.0.1:"), "{said}");
    assert!(said.contains("this door is off") && said.contains("grpc"), "{said}");
    for (program, answer) in [("curl -i", "HTTP/2 200"), ("redis-cli", "16")] {
        let line = said.lines().find(|line| line.contains(&format!("{program} "))).unwrap();
        let line = line.trim().replacen(program, &format!("{program} --cacert ca.crt"), 1);
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(folder.path()).kill_on_drop(true);
        let output = within(&line, shell.output()).await.unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains(answer), "{line}: {output:?}");
    }
    let http = said.lines().find_map(|line| line.split_once("https://")?.1.split_once('/')).unwrap().0;
    let ended = run(&folder, &format!("check --server {http} a=b")).await;
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.said.contains("may be encrypted (TLS)"), "{ended:?}");
}
