//! Settings that are wrong or do not go together: told by `serve` and, before that, by `validate --config`.

use tokio::net::TcpSocket;

use super::{run, run_with, transcript};
use crate::folder::Folder;
use crate::golden;
use crate::program::Program;
use crate::tidegate::serve;

const WRONG: &str = "admin: { token: SECRET }
store: 'rediss//u:SECRET@host'
limits: { idle_timeout: 0s }
trust: { peers: [10.0.0.0/40, foo, 10.0.0.1] }
";

const WITHOUT_EFFECT: &str = "tls: { clients: must, doors: [http] }
trust: { peers: [{ from: 10.0.0.0/8, doors: [http] }] }
";

const NO_FILES: &str = "http: { token_file: nowhere }
resp: { password_file: nowhere }
trust: { doors: [http], token_file: nowhere, peers: [{ token_file: nowhere, doors: [resp] }] }
tls: { certificate: nowhere, private_key: nowhere }
store: redis://localhost
redis: { secret: nowhere, certificate: nowhere }
";

#[tokio::test]
async fn settings_can_be_checked_before_a_server_starts() {
    let folder = Folder::new();
    folder.write("wrong.yaml", WRONG);
    folder.write("without-effect.yaml", WITHOUT_EFFECT);
    folder.write("no-files.yaml", NO_FILES);
    folder.write("good.yaml", "log: { level: warn }\n");
    std::fs::create_dir(folder.file("rules")).unwrap();
    folder.write("rules/api.yaml", "domain: api\nrules: [{ name: per-key, by: [api_key], limit: 5/s }]\n");
    folder.write("with-rules.yaml", "rules: rules\n");
    let files = ["wrong", "without-effect", "no-files", "good", "with-rules"];
    let commands = files.map(|file| format!("validate --config {file}.yaml"));
    let said = transcript(&folder, &commands.each_ref().map(String::as_str)).await;
    assert!(!said.contains("SECRET"), "{said}");
    golden::check("settings.txt", &said);
}

#[tokio::test]
async fn a_server_does_not_start_with_them_and_tells_of_all_variables() {
    let folder = Folder::new();
    folder.write("tidegate.yaml", WITHOUT_EFFECT);
    let ended = run(&folder, "serve --config tidegate.yaml").await;
    assert_eq!((ended.code, ended.said.matches("error: ").count()), (Some(3), 3), "{ended:?}");
    let variables = [("TIDEGATE_LOG_LEVEL", "inof"), ("TIDEGATE_RUNTIME", "fast")];
    let ended = run_with(&folder, &variables, "serve --http x").await;
    assert_eq!((ended.code, ended.said.matches("error: ").count()), (Some(3), 3), "{ended:?}");
    let ended = run(&folder, "serve --http x --grpc y").await;
    assert_eq!((ended.code, ended.said.matches("error: ").count()), (Some(2), 2), "{ended:?}");
}

/// A port that is bound and not listened at refuses every connection, and nobody else gets it.
#[tokio::test]
async fn a_store_that_cannot_be_reached_is_told_without_its_password() {
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = bound.local_addr().unwrap().to_string();
    let server = Program::start(serve(&["--store", &format!("redis://me:hush@{nobody}")], None));
    let told = |line: &str| line.contains("the store cannot be reached").then(|| line.to_owned());
    let line = server.line("that the store cannot be reached", told).await;
    assert!(line.contains(&nobody) && line.contains("connection refused"), "{line}");
    assert!(!server.said().contains("hush"), "{}", server.said());
}

#[tokio::test]
async fn print_config_tells_every_source() {
    let folder = Folder::new();
    folder.write("tidegate.yaml", "limits: { streams: 7 }\nstore: redis://me:SECRET@localhost\n");
    std::fs::create_dir(folder.file("rules")).unwrap();
    let variables = [("TIDEGATE_LOG_LEVEL", "warn")];
    let typed = "serve --config tidegate.yaml --http 127.0.0.1:1 --print-config";
    let ended = run_with(&folder, &variables, typed).await;
    assert_eq!((ended.code, ended.said.as_str()), (Some(0), ""), "{ended:?}");
    let columns = |key: &str| {
        let line = ended.printed.lines().find(|line| line.split_whitespace().next() == Some(key)).unwrap();
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(columns("listen.http"), "127.0.0.1:1 --http");
    assert_eq!(columns("log.level"), "warn TIDEGATE_LOG_LEVEL");
    assert_eq!(columns("limits.streams"), "7 tidegate.yaml");
    assert_eq!(columns("store"), "redis://***@localhost tidegate.yaml");
    assert_eq!(columns("listen.grpc"), "0.0.0.0:8081 default");
    assert_eq!(columns("rules"), "rules default, the folder is there");
    assert!(!ended.printed.contains("SECRET"), "{ended:?}");
    let wrong = run(&folder, "serve --print-config --http x").await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[tokio::test]
async fn live_tells_refusal_at_once() {
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = bound.local_addr().unwrap();
    for store in ["redis", "redis-cluster"] {
        let ended = run(&Folder::new(), &format!("validate --live --store {store}://{nobody}")).await;
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(ended.printed.starts_with(&format!("{nobody}\n  error: connection refused\n")), "{ended:?}");
    }
}
