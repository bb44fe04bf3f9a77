//! `tidegate demo`.

use super::run;
use crate::folder::Folder;
use crate::program::Program;
use crate::tidegate::tidegate;

#[tokio::test]
async fn a_demo_ends_with_a_table_of_what_became_of_each_caller() {
    let ended = run(&Folder::new(), "demo --seconds 1").await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines: Vec<&str> = ended.printed.lines().collect();
    assert!(lines[0].starts_with("CALLER") && lines[0].contains("DENIED"), "{ended:?}");
    for caller in ["acme (pro)", "umbrella (free)", "initech (free)", "198.51.100.9", "load balancer"] {
        assert!(lines.iter().any(|line| line.starts_with(caller)), "{caller}: {ended:?}");
    }
    let total = lines.last().unwrap();
    assert!(!total.starts_with("0 checks") && total.ends_with(", 0 without an answer"), "{ended:?}");
    assert!(ended.said.contains("server: http://127.0.0.1:"), "{ended:?}");
}

#[tokio::test]
async fn an_interrupted_demo_leaves_nothing_behind() {
    let temporary = Folder::new();
    let left = || std::fs::read_dir(temporary.path()).unwrap().count();
    for signal in ["INT", "TERM"] {
        let mut command = tidegate(&["demo", "--seconds", "600"]);
        command.env("TMPDIR", temporary.path());
        let demo = Program::start(command);
        demo.line("where the server is", |line| line.contains("server: http://").then_some(())).await;
        assert_eq!(left(), 1);
        demo.signal(signal).await;
        let (code, said) = demo.end().await;
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(left(), 0, "{said}");
    }
}
