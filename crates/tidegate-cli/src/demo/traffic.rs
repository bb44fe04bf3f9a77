//! Callers of the demo: each does its own thing, over its own connection to the server.

use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ask::Client;

/// Somebody who sends requests.
pub(super) struct Caller {
    pub(super) name: &'static str,
    pub(super) does: &'static str,
    attributes: &'static [(&'static str, &'static str)],
    /// So many at once, then a pause.
    at_once: u32,
    pause: Duration,
}

/// What became of a caller's requests.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) sent: u64,
    pub(super) allowed: u64,
    pub(super) denied: u64,
    pub(super) failed: u64,
    pub(super) last_refusal: Option<String>,
}

/// What came back: a decision, or nothing.
pub(super) type Answer = Option<Value>;

pub(super) const CALLERS: [Caller; 5] = [
    Caller {
        name: "acme (pro)",
        does: "reads orders, 20 a second",
        attributes: &[("api_key", "acme-1"), ("method", "GET"), ("path", "/v1/orders/17")],
        at_once: 2,
        pause: Duration::from_millis(100),
    },
    Caller {
        name: "umbrella (free)",
        does: "writes orders, 10 at once",
        attributes: &[("api_key", "umbrella-1"), ("method", "POST"), ("path", "/v1/orders")],
        at_once: 10,
        pause: Duration::from_millis(1000),
    },
    Caller {
        name: "initech (free)",
        does: "scrapes as fast as it can",
        attributes: &[("api_key", "initech-7"), ("method", "GET"), ("path", "/v1/products")],
        at_once: 20,
        pause: Duration::from_millis(200),
    },
    Caller {
        name: "198.51.100.9",
        does: "guesses passwords",
        attributes: &[("ip", "198.51.100.9"), ("method", "POST"), ("path", "/login")],
        at_once: 1,
        pause: Duration::from_millis(150),
    },
    Caller {
        name: "load balancer",
        does: "asks for health",
        attributes: &[("ip", "10.0.0.1"), ("method", "GET"), ("path", "/healthz")],
        at_once: 1,
        pause: Duration::from_millis(500),
    },
];

impl Caller {
    /// Sends requests until nobody listens any more.
    pub(super) fn start(&'static self, server: &str, tell: SyncSender<(usize, Answer)>) -> JoinHandle<()> {
        let place = CALLERS.iter().position(|other| other.name == self.name).unwrap_or(0);
        let server = server.to_owned();
        std::thread::spawn(move || {
            let Ok(client) = Client::new(&server) else { return };
            let attributes: serde_json::Map<String, Value> =
                self.attributes.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            let body = json!({ "domain": "demo", "attributes": attributes });
            loop {
                for _ in 0..self.at_once {
                    let answer = client.post("/v1/check", &body).ok().map(|(_, answer)| answer);
                    if tell.send((place, answer)).is_err() {
                        return;
                    }
                }
                std::thread::sleep(self.pause);
            }
        })
    }
}

impl Tally {
    pub(super) fn count(&mut self, answer: Answer) {
        self.sent += 1;
        let Some(answer) = answer else {
            self.failed += 1;
            return;
        };
        if answer["decision"] == json!("allow") {
            self.allowed += 1;
        } else {
            self.denied += 1;
            let by = answer["denied_by"].get(0).and_then(Value::as_str).unwrap_or("-");
            let reason = answer["reason"].as_str().unwrap_or("-");
            self.last_refusal = Some(format!("{by} ({reason})"));
        }
    }
}
