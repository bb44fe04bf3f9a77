//! The guides of proxies are right: what a page says to type is typed, and what comes of it is held against the page.
//!
//! Ports are replaced by free ones, and the proxy is started by the line at the top of its file, which the page shows too. A
//! line `…` on the page stands for any lines, and seconds for any seconds.
//!
//! Proxies wait for 20 or 100 ms at most and then let pass, and a busy machine may take longer: requests are sent again, with
//! keys that nobody has used, until all goes as the page says.

use std::net::SocketAddr;
use std::path::Path;

use tokio::process::Command;

use crate::client;
use crate::folder::Folder;
use crate::page::{fenced, typed};
use crate::patience::{in_time, within};
use crate::program::{Program, root};
use crate::proxy::{Kind, Proxy};
use crate::tidegate::{Tidegate, unswayed};

async fn check(kind: Kind) {
    let name = kind.name();
    let page = std::fs::read_to_string(root().join(format!("docs/guides/proxies/{name}.md"))).unwrap();
    let [api, tidegate, proxy, ..] = fenced(&page, "sh")[..] else {
        panic!("{name}: an API, Tidegate and the proxy are started")
    };
    let serve = tidegate.lines().last().unwrap();
    for line in proxy.lines().chain([serve]) {
        assert!(page.contains(&format!("\n#   {line}")), "the file of {name} does not begin with: {line}");
    }

    let folder = Folder::new();
    let (mut api, upstream) = start_api(&folder, api).await;
    let tidegate = start_tidegate(folder, tidegate).await;
    let proxy = Proxy::start(kind, &tidegate, upstream).await;
    answers_as_the_page_says(&page, proxy.address).await;

    api.kill().await;
    let status = client::get(proxy.address, "/", &[]).await.status;
    assert!(page.contains(&format!("\n{status} instead of 200: nobody listens")), "{name}: {status}");
}

async fn start_api(folder: &Folder, text: &str) -> (Program, SocketAddr) {
    let mut command = shell(folder, &becoming_its_last_line(&text.replace(" 9000 ", " 0 ")));
    command.env("PYTHONUNBUFFERED", "1");
    let program = Program::start(command);
    let address = |line: &str| line.split_once("http://")?.1.split_once('/')?.0.parse().ok();
    let address = program.line("the address of the API", address).await;
    (program, address)
}

async fn start_tidegate(folder: Folder, text: &str) -> Tidegate {
    let mut command = shell(&folder, &becoming_its_last_line(text));
    for door in ["TIDEGATE_GRPC", "TIDEGATE_HTTP", "TIDEGATE_ADMIN"] {
        command.env(door, "127.0.0.1:0");
    }
    Tidegate::from(command, folder).await
}

/// A shell in a folder, with our binary on its path.
fn shell(folder: &Folder, text: &str) -> Command {
    let ours = Path::new(env!("CARGO_BIN_EXE_tidegate")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(ours).chain(std::env::split_paths(&path))).unwrap();
    let mut command = unswayed("sh");
    command.args(["-e", "-c", text]).env("PATH", path).current_dir(folder.path()).kill_on_drop(true);
    command
}

/// What the last line starts takes the place of the shell, and so ends with its owner.
fn becoming_its_last_line(text: &str) -> String {
    let (before, last) = text.rsplit_once('\n').unwrap();
    format!("{before}\nexec env {last}")
}

async fn answers_as_the_page_says(page: &str, proxy: SocketAddr) {
    let (requests, folder) = (typed(page, "$ "), Folder::new());
    assert!(requests.len() > 2, "the page has lost its requests");
    let mut differs = String::new();
    let as_it_says = async {
        for turn in 1.. {
            match difference(&requests, &folder, (proxy, turn)).await {
                Some(found) => differs = found,
                None => break,
            }
        }
    };
    let as_it_says = in_time(as_it_says).await;
    assert!(as_it_says.is_some(), "{differs}");
}

/// The first answer that is not as the page says, with keys of that turn.
async fn difference(
    requests: &[(&str, Vec<&str>)],
    folder: &Folder,
    (proxy, turn): (SocketAddr, u32),
) -> Option<String> {
    for (line, says) in requests {
        let line = line.replace("127.0.0.1:10000", &proxy.to_string());
        let line = line.replace("x-api-key: ", &format!("x-api-key: {turn}-"));
        let ended = within(&line, shell(folder, &line).output()).await.unwrap();
        let printed = String::from_utf8(ended.stdout).unwrap();
        let real: Vec<&str> = printed.lines().map(str::trim_end).collect();
        if !shows(says, &real) {
            return Some(format!("{line}\nis answered\n{}\nand not\n{}", real.join("\n"), says.join("\n")));
        }
    }
    None
}

/// Whether these are the lines of the page.
fn shows(page: &[&str], real: &[&str]) -> bool {
    match (page, real) {
        ([], real) => real.is_empty(),
        (["…", page @ ..], real) => (0..=real.len()).any(|left_out| shows(page, &real[left_out..])),
        ([said, page @ ..], [line, real @ ..]) => {
            without_seconds(said) == without_seconds(line) && shows(page, real)
        }
        (_, []) => false,
    }
}

/// Of the two headers that end with seconds, all but those.
fn without_seconds(line: &str) -> &str {
    let is = |name: &str| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let seconds = |character: char| character.is_ascii_digit();
    if is("retry-after: ") || is("ratelimit: ") { line.trim_end_matches(seconds) } else { line }
}

#[test]
fn what_a_page_leaves_out_may_be_anything_and_the_rest_may_not() {
    let page = ["HTTP/1.1 429", "…", "Retry-After: 42", "…"];
    assert!(shows(&page, &["HTTP/1.1 429", "Retry-After: 7"]));
    assert!(shows(&page, &["HTTP/1.1 429", "Date: now", "Retry-After: 7", "", "{}"]));
    assert!(!shows(&page, &["HTTP/1.1 200", "Retry-After: 7"]));
    assert!(!shows(&page, &["HTTP/1.1 429", "Date: now"]));
    assert!(!shows(&page[..3], &["HTTP/1.1 429", "Retry-After: 7", "Date: now"]));
    assert!(!shows(&["200 200 429"], &["200 200 200"]));
}

#[tokio::test]
async fn the_guide_of_envoy_can_be_followed() {
    check(Kind::Envoy).await;
}

#[tokio::test]
async fn the_guide_of_nginx_can_be_followed() {
    check(Kind::Nginx).await;
}

#[tokio::test]
async fn the_guide_of_caddy_can_be_followed() {
    check(Kind::Caddy).await;
}

#[tokio::test]
async fn the_guide_of_traefik_can_be_followed() {
    check(Kind::Traefik).await;
}

#[tokio::test]
async fn the_guide_of_haproxy_can_be_followed() {
    check(Kind::Haproxy).await;
}
