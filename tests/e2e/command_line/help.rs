//! The help of every command.

use super::{run, transcript};
use crate::folder::Folder;
use crate::golden;

#[tokio::test]
async fn every_command_has_the_help_that_was_reviewed() {
    let commands = [
        "--help",
        "serve --help",
        "validate --help",
        "init --help",
        "check --help",
        "commit --help",
        "cancel --help",
        "release --help",
        "explain --help",
        "nodes --help",
        "rules --help",
        "rules list --help",
        "rules off --help",
        "rules shadow --help",
        "rules enforce --help",
        "rules on --help",
        "snippet --help",
        "openapi --help",
        "demo --help",
        "completions --help",
    ];
    golden::check("help.txt", &transcript(&Folder::new(), &commands).await);
}

#[tokio::test]
async fn the_first_page_names_every_command_whose_help_is_reviewed() {
    let folder = Folder::new();
    let page = run(&folder, "--help").await.printed;
    let listed =
        page.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(
        names,
        [
            "serve",
            "validate",
            "init",
            "check",
            "commit",
            "cancel",
            "release",
            "explain",
            "nodes",
            "rules",
            "snippet",
            "openapi",
            "demo",
            "completions",
            "help"
        ],
        "{page}"
    );
}

#[tokio::test]
async fn completions_are_printed_for_a_shell() {
    let ended = run(&Folder::new(), "completions bash").await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.printed.contains("_tidegate()"), "{ended:?}");
}
