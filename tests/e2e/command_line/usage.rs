//! What is typed wrongly ends with 2 and a hint; what cannot be read with 3.

use super::transcript;
use crate::folder::Folder;
use crate::golden;

#[tokio::test]
async fn wrong_usage_is_told_from_wrong_rules() {
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
        "check path",
        "check =/x",
        "check --cost many",
        "check --server https://api.example",
        "check --server http://api.example/path",
        "completions tcsh",
    ];
    golden::check("usage.txt", &transcript(&folder, &commands).await);
}
