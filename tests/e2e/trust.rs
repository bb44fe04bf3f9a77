//! Whose word counts, as curl, redis-cli and certificates of openssl show who asks.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use tidegate_rig::certificates;
use tokio::process::Command;

use crate::folder::Folder;
use crate::patience::{until, within};
use crate::program::installed;
use crate::tidegate::{self, Tidegate, serve};

/// The limits of an answer tell which attributes were taken.
const RULES: &str = "domain: api
rules:
  - { name: ip, by: [ip], limit: 1000/h }
  - { name: org, by: [org], limit: 1000/h }
  - { name: plan, by: [plan], limit: 1000/h }
";
const TOKEN: &str = "0123456789abcdef";

/// A server with that configuration in a folder.
async fn start(folder: &Path, config: &str) -> (Tidegate, SocketAddr) {
    let file = folder.join("tidegate.yaml");
    std::fs::write(&file, config).unwrap();
    std::fs::write(folder.join("token"), TOKEN).unwrap();
    let rules = Folder::of(RULES);
    let arguments = ["--config", file.to_str().unwrap(), "--resp", "127.0.0.1:0"];
    let server = Tidegate::from(serve(&arguments, Some(rules.path())), rules).await;
    let resp = tidegate::door(&server.program, "resp").await;
    (server, resp)
}

async fn printed(mut command: Command) -> String {
    let output = within("its end", command.kill_on_drop(true).output()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Which of three claims counted, asked with curl.
async fn counted(url: &str, arguments: &[&str]) -> Vec<String> {
    let claims = json!({ "ip": "192.0.2.7", "org": "acme", "plan": "gold" });
    let body = json!({ "domain": "api", "attributes": claims }).to_string();
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--json", &body, &format!("{url}/v1/check")]).args(arguments);
    let answer: Value = serde_json::from_str(&printed(curl).await).unwrap();
    let limits = answer["limits"].as_array().unwrap_or_else(|| panic!("{answer}"));
    limits.iter().map(|limit| limit["rule"].as_str().unwrap().to_owned()).collect()
}

/// The same, asked with redis-cli.
async fn explained(at: SocketAddr, arguments: &[&str]) -> Vec<&'static str> {
    let mut cli = Command::new(installed("bin/redis-cli"));
    cli.args(["-h", "127.0.0.1", "-p", &at.port().to_string()]).args(arguments);
    cli.args("TG.EXPLAIN api ip 192.0.2.7 org acme plan gold".split(' '));
    let said = printed(cli).await;
    let values = [("ip", "192.0.2.7"), ("org", "acme"), ("plan", "gold")];
    values.into_iter().filter(|(_, value)| said.contains(value)).map(|(name, _)| name).collect()
}

#[tokio::test]
async fn networks_and_tokens_are_good_for_what_they_are_granted_where_they_are() {
    let folder = Folder::new();
    let (server, resp) = start(
        folder.path(),
        "trust:\n  doors: [http, resp]\n  peers:\n    - { from: 127.0.0.0/8, attributes: [ip] }\n    \
         - { token_file: token, attributes: [org] }\n    - { token_file: token, attributes: plan, doors: resp }\n",
    )
    .await;
    let url = format!("http://{}", server.http);
    let bearer = format!("authorization: Bearer {TOKEN}");
    assert_eq!(counted(&url, &[]).await, ["ip"]);
    assert_eq!(counted(&url, &["--header", &bearer]).await, ["ip", "org"]);
    assert_eq!(counted(&url, &["--header", "x-tidegate-token: 0123456789abcdeX"]).await, ["ip"]);
    assert_eq!(explained(resp, &[]).await, ["ip"]);
    assert_eq!(explained(resp, &["--no-auth-warning", "-a", TOKEN]).await, ["ip", "org", "plan"]);
    let metrics = server.metrics().await;
    for (door, attribute, count) in
        [("http", "org", 2), ("http", "plan", 3), ("http", "ip", 0), ("resp", "plan", 1)]
    {
        let line =
            format!(r#"ratelimit_untrusted_claims_total{{door="{door}",attribute="{attribute}"}} {count}"#);
        assert!(metrics.lines().any(|one| one == line), "{line} is not in {metrics}");
    }
    assert!(!server.program.said().contains(TOKEN));

    std::fs::write(folder.path().join("token"), "fedcba9876543210").unwrap();
    let newer = ["--header", "authorization: Bearer fedcba9876543210"];
    until("the new token to be known", async || (counted(&url, &newer).await.len() == 2).then_some(())).await;
    assert_eq!(counted(&url, &["--header", &bearer]).await, ["ip"], "the old one is forgotten");
}

#[tokio::test]
async fn certificates_are_good_for_what_they_are_granted() {
    let folder = certificates();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut openssl = Command::new("openssl");
    openssl.args(["x509", "-noout", "-fingerprint", "-sha256", "-in", &at("client.crt")]);
    let printed = printed(openssl).await;
    let fingerprint = printed.trim().split_once('=').unwrap().1;
    let (server, resp) = start(
        folder.path(),
        &format!(
            "tls: {{ certificate: server.crt, private_key: server.key, client_authorities: ca.crt, clients: may, doors: [http, resp] }}\n\
             trust:\n  doors: [http, resp]\n  peers:\n    - {{ certificate: localhost, attributes: [org] }}\n    \
             - {{ certificate: \"sha256:{fingerprint}\", attributes: [plan] }}\n"
        ),
    )
    .await;
    let url = format!("https://{}", server.http);
    let shows = |who: &str| {
        let files = [
            ("--cacert", "ca.crt".to_owned()),
            ("--cert", format!("{who}.crt")),
            ("--key", format!("{who}.key")),
        ];
        files.into_iter().flat_map(|(flag, file)| [flag.to_owned(), at(&file)]).collect::<Vec<_>>()
    };
    assert!(counted(&url, &["--cacert", &at("ca.crt")]).await.is_empty(), "whoever shows none is a stranger");
    for (who, expected) in [("client", &["org", "plan"][..]), ("server", &["org"])] {
        let arguments = shows(who);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert_eq!(counted(&url, &arguments).await, expected, "{who}, whose name is the same");
        let arguments: Vec<&str> = std::iter::once("--tls").chain(arguments).collect();
        assert_eq!(explained(resp, &arguments).await, expected, "{who}");
    }
}

/// What would never come true stops a server before it starts.
#[tokio::test]
async fn a_certificate_that_nobody_has_to_show_is_refused() {
    let folder = Folder::new();
    let file = folder.path().join("tidegate.yaml");
    std::fs::write(&file, "trust: { peers: [{ certificate: edge.example }] }").unwrap();
    let mut command = tidegate::tidegate(&["serve", "--config", file.to_str().unwrap()]);
    let output = within("its end", command.kill_on_drop(true).output()).await.unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("set tls.client_authorities"), "{output:?}");
}

#[tokio::test]
async fn log_names_peer_that_is_not_believed() {
    let rules = "domain: api\nrules: [{ name: login, match: { path: /login }, by: [ip], limit: 1/h }]\n";
    let server = Tidegate::with(rules).await;
    let headers = [("x-forwarded-uri", "/login"), ("x-forwarded-for", "192.0.2.7")];
    for _ in 0..3 {
        crate::client::get(server.http, "/v1/authorize", &headers).await.expect(200);
    }
    let told = |line: &str| line.contains("rules on `path`").then(|| line.to_owned());
    let line = server.program.line("the peer that is not believed", told).await;
    assert!(line.contains("trust: { peers: [127.0.0.1] }"), "{line}");
    let metrics = server.metrics().await;
    assert!(metrics.contains("ratelimit_untrusted_peers{door=\"authorize\"} 1\n"), "{metrics}");
    assert_eq!(server.program.said().matches("rules on `path`").count(), 1);
}
