//! `tidegate demo`.

use super::run;
use crate::folder::Folder;

#[tokio::test]
async fn a_demo_ends_with_a_table_of_callers_of_whom_some_were_refused() {
    let ended = run(&Folder::new(), "demo --seconds 1").await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines: Vec<&str> = ended.printed.lines().collect();
    assert!(lines[0].starts_with("CALLER") && lines[0].contains("DENIED"), "{ended:?}");
    assert!(lines.iter().any(|line| line.starts_with("acme (pro)")), "{ended:?}");
    assert!(lines.iter().any(|line| line.ends_with("0 without an answer")), "{ended:?}");
    assert!(ended.said.contains("server: http://127.0.0.1:"), "{ended:?}");
}
