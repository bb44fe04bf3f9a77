//! Starting: with nothing, with rules, with rules that are wrong.

use serde_json::json;

use crate::client::{self, post};
use crate::folder::Folder;
use crate::program::Program;
use crate::tidegate::{Tidegate, door, of, serve, tidegate};

#[tokio::test]
async fn without_any_rules_everything_passes() {
    let program = Program::start(serve(&[], None));
    let http = door(&program, "http").await;
    for _ in 0..3 {
        let answer = post(http, "/v1/check", of("k1")).await.expect(200).json();
        assert_eq!((&answer["decision"], &answer["limits"]), (&json!("allow"), &json!([])));
    }
}

#[tokio::test]
async fn an_empty_folder_is_no_rules() {
    let server = Tidegate::start(Folder::new()).await;
    server.check("k1").await.expect(200);
    let passes = |line: &str| line.contains("everything passes").then_some(());
    server.program.line("that everything passes", passes).await;

    let folder = Folder::new();
    let mut in_text =
        tidegate(&["serve", "--grpc", "off", "--http", "127.0.0.1:0", "--admin", "off", "--rules"]);
    in_text.arg(folder.path());
    Program::start(in_text).line("that everything passes", passes).await;
}

#[tokio::test]
async fn wrong_rules_at_the_start_are_shown_with_their_place_and_end_with_3() {
    let rules = Folder::of(
        "domain: api\nrules:\n  - name: per-key\n    by: [api_key]\n    limits: 5 per fortnight\n",
    );
    rules.write("more.yaml", "domain: more\nrulez: []\n");
    let (code, said) = Program::start(serve(&[], Some(rules.path()))).end().await;
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("api.yaml:5"), "the place of the first: {said}");
    assert!(
        said.contains("more.yaml:2") && said.contains("rules"),
        "and of the second, with the right spelling: {said}"
    );
    assert!(!said.contains("listening"), "no door opens: {said}");
}

#[tokio::test]
async fn a_folder_that_does_not_exist_ends_with_3() {
    let rules = Folder::new();
    let (code, said) = Program::start(serve(&[], Some(&rules.file("nowhere")))).end().await;
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("nowhere"), "{said}");
}

#[tokio::test]
async fn an_unknown_flag_is_wrong_usage() {
    let (code, said) = Program::start(serve(&["--rulez", "x"], None)).end().await;
    assert_eq!(code, Some(2), "{said}");
}

#[tokio::test]
async fn a_door_that_is_off_is_not_opened() {
    let program = Program::start(serve(&["--grpc", "off"], None));
    let http = door(&program, "http").await;
    door(&program, "admin").await;
    post(http, "/v1/check", of("k1")).await.expect(200);
    let grpc_opened = program.said().lines().any(|line| line.contains("listening") && line.contains("grpc"));
    assert!(!grpc_opened, "{}", program.said());
}

#[tokio::test]
async fn an_address_that_is_taken_ends_with_1_and_names_the_door() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, said) = Program::start(serve(&["--http", &address], None)).end().await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&address), "{said}");
    assert_eq!(said.matches("in use").count(), 1, "the cause is said once: {said}");
}

#[tokio::test]
async fn refuses_to_replace_ratelimit_without_rules() {
    for rules in [None, Some(Folder::new())] {
        let mut command = serve(&[], rules.as_ref().map(Folder::path));
        command.env("RUNTIME_ROOT", "/data").env("RUNTIME_SUBDIRECTORY", "ratelimit");
        let (code, said) = Program::start(command).end().await;
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains("--rules /data/ratelimit ") && !said.contains("listening"), "{said}");
    }
}

#[tokio::test]
async fn start_tells_open_doors() {
    let program = Program::start(serve(&["--http", "0.0.0.0:0"], None));
    let told = |line: &str| line.contains("asks for no proof").then(|| line.to_owned());
    let line = program.line("the open door", told).await;
    assert!(line.contains("\"door\":\"http\"") && line.contains("http.token_file"), "{line}");
    assert_eq!(program.said().matches("asks for no proof").count(), 1, "loopback is not told");
}

#[tokio::test]
async fn same_rules_have_same_hash() {
    let rules = "domain: api\nrules: [{ name: per-key, by: [api_key], limit: 5/s }]\n";
    let (one, other) = (Tidegate::with(rules).await, Tidegate::with(rules).await);
    other.rules.write("unrelated.txt", "no rules");
    client::post(other.admin, "/admin/v1/reload", "").await.expect(200);
    let hash = async |server: &Tidegate| {
        let answer = client::get(server.admin, "/admin/v1/snapshot", &[]).await.expect(200).json();
        answer["hash"].as_str().unwrap().to_owned()
    };
    assert_eq!(hash(&one).await, hash(&other).await);
    other.rules.write("api.yaml", &rules.replace("5/s", "6/s"));
    client::post(other.admin, "/admin/v1/reload", "").await.expect(200);
    assert_ne!(hash(&one).await, hash(&other).await);
}

#[tokio::test]
async fn log_rule_logs() {
    let rules = "domain: api\nrules: [{ name: seen, by: [api_key], limit: 1/h, action: log }]\n";
    let server = Tidegate::with(rules).await;
    for _ in 0..3 {
        server.check("k-secret").await.expect(200);
    }
    let told = |line: &str| line.contains("action: log").then(|| line.to_owned());
    let line = server.program.line("that the rule was exceeded", told).await;
    assert!(line.contains("\"rule\":\"seen\"") && line.contains("\"domain\":\"api\""), "{line}");
    assert!(!server.program.said().contains("k-secret"));
}
