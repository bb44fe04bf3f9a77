//! A server with a directory of rules, and a client that is no more than a socket.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;
use tidegate_server::config::Place;
use tidegate_server::{Config, Running, start};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};

/// Nothing here takes as long; if it does, something is wrong.
pub(crate) const CEILING: Duration = Duration::from_secs(20);

pub(crate) const RULES: &str = "domain: api\nrules:\n- { name: per-key, by: [api_key], limit: 2/min }\n";

/// A server and its rules.
pub(crate) struct World {
    pub(crate) server: Running,
    pub(crate) folder: TempDir,
}

/// An answer: its status, its head and its body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Settings with every door on a free port, and a stop that does not wait.
pub(crate) fn config() -> Config {
    let free = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let mut config = Config::default();
    (config.listen.grpc, config.listen.http, config.listen.admin) = (free, free, free);
    config.listen.resp = free;
    config.shutdown.lame_duck = Duration::ZERO;
    config.checkpoint.place = Place::Off;
    config
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("api.yaml"), RULES).unwrap();
        let mut config = config();
        config.rules = Some(folder.path().to_owned());
        change(&mut config);
        Self { server: start(&config).await.unwrap(), folder }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Changes a file in one step, as a careful editor does.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let draft = self.file(".draft");
        fs::write(&draft, text).unwrap();
        fs::rename(draft, self.file(name)).unwrap();
    }

    pub(crate) fn http(&self) -> SocketAddr {
        self.server.addresses().http.unwrap()
    }

    pub(crate) fn resp(&self) -> SocketAddr {
        self.server.addresses().resp.unwrap()
    }

    pub(crate) fn admin(&self) -> SocketAddr {
        self.server.addresses().admin.unwrap()
    }

    pub(crate) fn grpc(&self) -> SocketAddr {
        self.server.addresses().grpc.unwrap()
    }

    pub(crate) async fn channel(&self) -> Channel {
        channel(self.grpc()).await
    }

    pub(crate) async fn check(&self, key: &str) -> Answer {
        let body = format!(r#"{{"domain": "api", "attributes": {{"api_key": "{key}"}}}}"#);
        ask(self.http(), "POST", "/v1/check", &body).await
    }
}

/// A gRPC client's connection.
pub(crate) async fn channel(address: SocketAddr) -> Channel {
    Endpoint::new(format!("http://{address}")).unwrap().connect().await.unwrap()
}

/// One request on a connection of its own.
pub(crate) async fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> Answer {
    ask_as(address, &address.to_string(), method, path, body).await
}

/// The same under another name of the server.
pub(crate) async fn ask_as(address: SocketAddr, host: &str, method: &str, path: &str, body: &str) -> Answer {
    send(address, &format!("host: {host}\r\n"), (method, path), body).await
}

/// The same for a page of another site.
pub(crate) async fn ask_from(
    address: SocketAddr,
    origin: &str,
    method: &str,
    path: &str,
    body: &str,
) -> Answer {
    send(address, &format!("host: {address}\r\norigin: {origin}\r\n"), (method, path), body).await
}

/// The same with headers of one's own.
pub(crate) async fn send(
    address: SocketAddr,
    headers: &str,
    (method, path): (&str, &str),
    body: &str,
) -> Answer {
    let request = format!(
        "{method} {path} HTTP/1.1\r\n{headers}connection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(CEILING, stream.read_to_string(&mut answer)).await.expect("no answer").unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// Asks until the answer is as expected.
pub(crate) async fn until(address: SocketAddr, path: &str, expected: impl Fn(&Answer) -> bool) -> Answer {
    let asked = async {
        loop {
            let answer = ask(address, "GET", path, "").await;
            if expected(&answer) {
                return answer;
            }
        }
    };
    timeout(CEILING, asked).await.unwrap_or_else(|_| panic!("{path} never became what was expected"))
}
