//! What is sent, made beforehand: one request for each of 100 000 keys.

use bytes::Bytes;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
use prost::Message;

/// How many keys there are.
pub(super) const KEYS: usize = 100_000;

/// From one check's key to the next one's: no neighbour, and all keys in turn.
const STRIDE: usize = 61_803;

/// The burst and the rate that callers of throttlecrab send along: out of reach.
const LIMIT: (i32, i32, i32) = (1_000_000, 1_000_000, 3_600);

pub(super) struct Requests(Vec<Bytes>);

impl Requests {
    fn new(make: impl Fn(&str) -> Vec<u8>) -> Self {
        Self((0..KEYS).map(|key| Bytes::from(make(&format!("user:{key:08}")))).collect())
    }

    pub(super) fn of(&self, check: usize) -> Bytes {
        self.0[check.wrapping_mul(STRIDE) % KEYS].clone()
    }

    /// `ShouldRateLimit` with so many descriptors, each with a limit and a key of its own.
    pub(super) fn envoy(descriptors: usize) -> Self {
        let descriptor = |name: &str, user: &str| {
            let entry = Entry { key: name.to_owned(), value: user.to_owned() };
            RateLimitDescriptor { entries: vec![entry], ..Default::default() }
        };
        Self::new(|user| {
            let descriptors = NAMES[..descriptors].iter().map(|name| descriptor(name, user)).collect();
            let request = RateLimitRequest { domain: "bench".to_owned(), descriptors, ..Default::default() };
            framed(&request.encode_to_vec())
        })
    }

    /// throttlecrab's own call.
    pub(super) fn throttlecrab() -> Self {
        let (burst, count, period) = LIMIT;
        Self::new(|user| {
            let request = Throttle { key: user.to_owned(), burst, count, period, quantity: 1 };
            framed(&request.encode_to_vec())
        })
    }

    /// A check of ours over HTTP.
    pub(super) fn http() -> Self {
        Self::new(|user| {
            posted("/v1/check", &format!(r#"{{"domain":"plain","attributes":{{"user":"{user}"}}}}"#))
        })
    }

    /// The same of throttlecrab.
    pub(super) fn throttlecrab_http() -> Self {
        let (burst, count, period) = LIMIT;
        Self::new(|user| {
            let body = format!(
                r#"{{"key":"{user}","max_burst":{burst},"count_per_period":{count},"period":{period},"quantity":1}}"#
            );
            posted("/throttle", &body)
        })
    }

    /// The command that both know.
    pub(super) fn resp() -> Self {
        let (burst, count, period) = LIMIT;
        let words = [burst, count, period].map(|number| number.to_string());
        Self::new(|user| {
            let words = ["THROTTLE", user, &words[0], &words[1], &words[2]];
            let word = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
            format!("*5\r\n{}", words.iter().map(word).collect::<String>()).into_bytes()
        })
    }
}

/// What descriptors are called.
pub(super) const NAMES: [&str; 4] = ["user", "limit-1", "limit-2", "limit-3"];

#[derive(Message)]
struct Throttle {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(int32, tag = "2")]
    burst: i32,
    #[prost(int32, tag = "3")]
    count: i32,
    #[prost(int32, tag = "4")]
    period: i32,
    #[prost(int32, tag = "5")]
    quantity: i32,
}

/// A message as gRPC sends it: not compressed, and so long.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("requests are short").to_be_bytes();
    [&[0][..], &length, message].concat()
}

fn posted(path: &str, body: &str) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat()
}
