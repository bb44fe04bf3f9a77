//! `tidegate init`.

use super::{run, transcript};
use crate::folder::Folder;
use crate::golden;
use crate::program::Program;
use crate::tidegate::{door, serve};

#[tokio::test]
async fn files_to_start_from_are_written_once_and_validate_without_a_warning() {
    let folder = Folder::new();
    let commands = ["init", "init", "init --force", "validate rules --deny-warnings"];
    golden::check("init.txt", &transcript(&folder, &commands).await);
}

#[tokio::test]
async fn a_server_runs_with_the_files_to_start_from() {
    let folder = Folder::new();
    assert_eq!(run(&folder, "init rules").await.code, Some(0));
    let server = Program::start(serve(&[], Some(&folder.file("rules"))));
    let http = door(&server, "http").await;
    let asked = run(&folder, &format!("check --server {http} api_key=k1 path=/v1/orders")).await;
    assert_eq!(asked.code, Some(0), "{asked:?}");
    assert!(asked.printed.contains("per-key"), "{asked:?}");
}

#[tokio::test]
async fn commands_share_a_default_folder() {
    let folder = Folder::new();
    for typed in ["init", "validate", "explain api_key=k1 path=/v1/orders"] {
        let ended = run(&folder, typed).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let mut command = serve(&[], None);
    command.current_dir(folder.path());
    let server = Program::start(command);
    let loaded = |line: &str| (line.contains("\"rules\":7") && line.contains("ready")).then_some(());
    server.line("the rules of the folder", loaded).await;
}
