//! What faces the network, fed with anything at all.
//!
//! A [target](Target) takes bytes and panics if something does not hold that always should. `tools/fuzz` feeds it with bytes that
//! a fuzzer makes up (`libfuzzer/`); `tests/replay.rs` with those of its corpus, on every `make test`. Targets know no fuzzer.

mod pieces;
mod world;
mod told;
mod rules;
mod grpc;
mod http;
mod resp;
mod headers;
mod client_ip;
mod arguments;

/// Something that is fed.
#[derive(Debug)]
pub struct Target {
    /// Its name, which its corpus and dictionary have too.
    pub name: &'static str,
    /// Panics if the bytes make anything happen that never should.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 7] = [
    Target { name: "rules", run: rules::run },
    Target { name: "grpc", run: grpc::run },
    Target { name: "http", run: http::run },
    Target { name: "resp", run: resp::run },
    Target { name: "headers", run: headers::run },
    Target { name: "client_ip", run: client_ip::run },
    Target { name: "arguments", run: arguments::run },
];

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
