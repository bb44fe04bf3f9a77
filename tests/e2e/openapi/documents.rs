//! The documents in docs/reference are what the command prints and what the doors answer.

use crate::client::{self, request, send};
use crate::command_line::run;
use crate::folder::Folder;
use crate::golden;
use crate::tidegate::Tidegate;

use super::RULES;

#[tokio::test]
async fn the_documents_are_the_reviewed_ones_and_the_doors_answer_them() {
    let tidegate = Tidegate::with(RULES).await;
    for (command, file, (door, path)) in [
        ("openapi", "docs/reference/openapi.json", (tidegate.http, "/openapi.json")),
        ("openapi admin", "docs/reference/openapi-admin.json", (tidegate.admin, "/admin/openapi.json")),
    ] {
        let printed = run(&Folder::new(), command).await.printed;
        golden::check_at(file, &printed);
        let answer = client::get(door, path, &[]).await.expect(200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let written: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(answer.json(), written, "{file}");
    }
}

#[tokio::test]
async fn every_route_says_which_methods_it_takes_and_why_not_others() {
    let tidegate = Tidegate::with(RULES).await;
    for (door, path, takes) in [
        (tidegate.http, "/v1/check", "POST"),
        (tidegate.http, "/json", "POST"),
        (tidegate.http, "/healthz", "GET,HEAD"),
        (tidegate.http, "/openapi.json", "GET,HEAD"),
        (tidegate.admin, "/metrics", "GET,HEAD"),
        (tidegate.admin, "/admin/v1/reload", "POST"),
        (tidegate.admin, "/admin/v1/switches/api", "PUT,DELETE"),
    ] {
        let answer = send(door, request("PATCH", path, &[], String::new())).await.expect(405);
        assert_eq!(answer.header("allow"), Some(takes), "{path}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
    }
}

/// The routes of a door that wants its token say so.
#[tokio::test]
async fn where_a_token_is_wanted_the_document_says_so() {
    let folder = Folder::new();
    let file = folder.path().join("token");
    std::fs::write(&file, "0123456789abcdef\n").unwrap();
    let settings = [("TIDEGATE_HTTP_TOKEN_FILE", file.to_str().unwrap())];
    let tidegate = Tidegate::set_up(Folder::of(RULES), &settings).await;
    let document = tidegate.get("/openapi.json").await.expect(200).json();
    let security = |path: &str, method: &str| document["paths"][path][method]["security"].to_string();
    assert_eq!(security("/v1/check", "post"), r#"[{"bearer":[]},{"token":[]}]"#);
    assert_eq!(security("/healthz", "get"), "[]");
}
