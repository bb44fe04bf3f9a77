//! What is typed wrongly ends with 2 and a hint; what cannot be read with 3.

use super::transcript;
use crate::folder::Folder;
use crate::golden;

#[tokio::test]
async fn wrong_usage_is_told_from_wrong_rules_and_from_none() {
    let folder = Folder::of("domain: api\nrules: []\n");
    let commands = [
        "serv",
        "serve --http nowhere",
        "serve --config nowhere.yaml",
        "serve --rules nowhere",
        "validate nowhere",
        "validate --format xml",
        "explain",
        "explain nowhere",
        "explain path=/x",
        "explain api.yaml path",
        "explain api.yaml --at yesterday",
        "explain --server 127.0.0.1:1 --at yesterday path=/x",
        "explain api.yaml path=/x",
        "validate",
        "validate api.yaml --format json",
        "check path",
        "check =/x",
        "check --cost many",
        "check --server https://api.example",
        "check --server http://api.example/path",
        "completions tcsh",
    ];
    golden::check("usage.txt", &transcript(&folder, &commands).await);
}
