//! The guide is right: its examples are asked with redis-cli in their order, and answered as it says.
//!
//! Numbers above 1 are times for the most part, and only have to be numbers. `5f0c…` stands for the id of the check before.

use super::{open_with_rules, printed};
use crate::page::typed;
use crate::program::installed;

const PAGE: &str = include_str!("../../../docs/guides/resp.md");
const ID: &str = "5f0c…";
const PROMPT: &str = "$ redis-cli -p 6380 ";

/// The line without what differs each time.
fn plain(line: &str) -> String {
    let Some((place, number)) = line.split_once("(integer) ") else { return line.to_owned() };
    let number: i64 = number.parse().unwrap();
    if number > 1 { format!("{place}(integer)") } else { line.to_owned() }
}

#[tokio::test]
async fn every_example_of_the_guide_is_answered_as_it_says() {
    let rules = PAGE.split_once("# rules/api.yaml\n").unwrap().1.split_once("```").unwrap().0;
    // Lines are counted with the one that names the file.
    let (server, address) = open_with_rules(&format!("\n{rules}")).await;
    let (cli, mut id) = (installed("bin/redis-cli"), String::new());
    let examples = typed(PAGE, PROMPT);
    assert!(examples.len() > 6, "the guide has lost its examples");
    for (typed, expected) in examples {
        let typed = typed.replace(ID, &id);
        let arguments: Vec<&str> = std::iter::once("--no-raw").chain(typed.split(' ')).collect();
        let said = printed(&cli, address, &arguments).await;
        let said = said.replace(&server.rules.path().display().to_string(), "rules");
        let real: Vec<&str> = said.trim_end().lines().collect();
        if let Some(quoted) = real.iter().find_map(|line| line.strip_prefix("10) \"")) {
            id = quoted.trim_end_matches('"').to_owned();
        }
        let expected: Vec<String> = expected.iter().map(|line| plain(&line.replace(ID, &id))).collect();
        let real: Vec<String> = real.into_iter().map(plain).collect();
        assert_eq!(real, expected, "{typed}");
    }
}
