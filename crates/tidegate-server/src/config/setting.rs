//! The table of settings: what each is called everywhere, what it says, and what it sets. Files, variables, flags and the
//! reference in the documents come from here.

use std::time::Duration;

use super::value::{self, Wrong};
use super::{Config, Tls, Trust, TrustedPeer};

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Its place in the file: `listen.grpc`.
    pub key: &'static str,
    /// Its variable.
    pub variable: &'static str,
    /// Its flag, if it has one.
    pub flag: Option<&'static str>,
    /// What it is unless it is set.
    pub default: &'static str,
    /// What it says.
    pub doc: &'static str,
    pub(super) set: fn(&mut Config, &str) -> Result<(), Wrong>,
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const MEBIBYTE: usize = 1 << 20;

macro_rules! settings {
    ($($key:literal $variable:literal $flag:expr, $default:literal, $doc:literal, |$config:ident, $text:ident| $set:expr;)+) => {
        /// All settings, in the order of the file.
        pub static SETTINGS: &[Setting] = &[$(Setting {
            key: $key,
            variable: $variable,
            flag: $flag,
            default: $default,
            doc: $doc,
            set: |$config, $text| { $set; Ok(()) },
        }),+];
    };
}

settings! {
    "listen.grpc" "TIDEGATE_GRPC" Some("grpc"), "0.0.0.0:8081",
        "Where Envoy's rate limit service listens (gRPC), or off",
        |config, text| config.listen.grpc = value::address(text)?;
    "listen.http" "TIDEGATE_HTTP" Some("http"), "0.0.0.0:8080",
        "Where the HTTP API listens, or off",
        |config, text| config.listen.http = value::address(text)?;
    "listen.resp" "TIDEGATE_RESP" Some("resp"), "off",
        "Where the Redis protocol is spoken, such as 127.0.0.1:6380, or off",
        |config, text| config.listen.resp = value::address(text)?;
    "listen.admin" "TIDEGATE_ADMIN" Some("admin"), "127.0.0.1:6070",
        "Where metrics and administration listen, or off; beyond this machine only with a token or client certificates",
        |config, text| config.listen.admin = value::address(text)?;
    "rules" "TIDEGATE_RULES" Some("rules"), "none",
        "The directory of rule files (*.yaml, *.yml), or one such file; without it the folder rules, if it is here",
        |config, text| config.rules = value::path(text)?;
    "runtime" "TIDEGATE_RUNTIME" Some("runtime"), "per_core",
        "What connections are served on: per_core (one thread and runtime for each core), a number of such threads, or shared (one runtime for all)",
        |config, text| config.runtime = value::runtime(text)?;
    "store" "TIDEGATE_STORE" Some("store"), "memory",
        "Where counters live: memory, redis://host:6379, redis-cluster://host:port,… or redis-sentinel://host:port,…/master (rediss… for TLS)",
        |config, text| config.store = value::store(text)?;
    "redis.prefix" "TIDEGATE_REDIS_PREFIX" None, "t:",
        "What all keys in Redis begin with; one for each environment that shares a server",
        |config, text| config.redis.prefix = value::prefix(text)?;
    "redis.secret" "TIDEGATE_REDIS_SECRET" None, "none",
        "A file with 32 hexadecimal digits, the same on all nodes, that keys are hashed with; without it whoever reads Redis can test guesses of what was counted by",
        |config, text| config.redis.secret = value::path(text)?;
    "redis.deadline" "TIDEGATE_REDIS_DEADLINE" None, "10ms",
        "How long an answer of Redis is waited for; a caller with less patience is answered sooner",
        |config, text| config.redis.deadline = value::duration(text, Duration::from_millis(1), 10 * SECOND)?;
    "redis.connections" "TIDEGATE_REDIS_CONNECTIONS" None, "1",
        "Connections to each Redis server, for each core",
        |config, text| config.redis.connections = value::number(text, 1, 64)?;
    "redis.in_flight" "TIDEGATE_REDIS_IN_FLIGHT" None, "4096",
        "Calls under way to one Redis server; the fuller, the fewer classes are let in: comfort goes first, then cost, security last",
        |config, text| config.redis.in_flight = value::number(text, 16, 1_000_000)?;
    "redis.password_file" "TIDEGATE_REDIS_PASSWORD_FILE" None, "none",
        "A file with the password for Redis, read again when it changes",
        |config, text| config.redis.password_file = value::path(text)?;
    "redis.sentinel_user" "TIDEGATE_REDIS_SENTINEL_USER" None, "none",
        "The user that sentinels know us as",
        |config, text| config.redis.sentinel_user = value::name(text)?;
    "redis.sentinel_password_file" "TIDEGATE_REDIS_SENTINEL_PASSWORD_FILE" None, "none",
        "A file with the password for sentinels, read again when it changes",
        |config, text| config.redis.sentinel_password_file = value::path(text)?;
    "redis.authorities" "TIDEGATE_REDIS_AUTHORITIES" None, "none",
        "A file with the certificates (PEM) that TLS connections to Redis trust, read again when it changes; without it the system's own",
        |config, text| config.redis.authorities = value::path(text)?;
    "redis.certificate" "TIDEGATE_REDIS_CERTIFICATE" None, "none",
        "Our own certificate (PEM), for servers of Redis that ask for one, read again when it changes",
        |config, text| config.redis.certificate = value::path(text)?;
    "redis.private_key" "TIDEGATE_REDIS_PRIVATE_KEY" None, "none",
        "Its private key (PEM)",
        |config, text| config.redis.private_key = value::path(text)?;
    "resp.password_file" "TIDEGATE_RESP_PASSWORD_FILE" None, "none",
        "A file with the password that callers over the Redis protocol must send (AUTH), read again when it changes; without it they need none",
        |config, text| config.resp.password_file = value::path(text)?;
    "log.level" "TIDEGATE_LOG_LEVEL" Some("log-level"), "info",
        "What is logged: error, warn, info, debug or trace",
        |config, text| config.log.level = value::level(text)?;
    "log.format" "TIDEGATE_LOG_FORMAT" Some("log-format"), "text",
        "The form of the log: text or json",
        |config, text| config.log.format = value::format(text)?;
    "headers.ietf" "TIDEGATE_HEADERS_IETF" None, "draft-10",
        "The IETF's RateLimit fields: draft-10, draft-03 or off",
        |config, text| config.headers.ietf = value::word(text, &["draft-10", "draft-03", "off"])?
            .parse().map_err(|error: tidegate_wire::headers::SettingError| error.to_string())?;
    "headers.legacy" "TIDEGATE_HEADERS_LEGACY" None, "off",
        "The X-RateLimit-* fields: off, epoch (reset as a time) or delta (reset in seconds from now)",
        |config, text| config.headers.legacy = value::word(text, &["off", "epoch", "delta"])?
            .parse().map_err(|error: tidegate_wire::headers::SettingError| error.to_string())?;
    "headers.used" "TIDEGATE_HEADERS_USED" None, "false",
        "Whether legacy fields include X-RateLimit-Used",
        |config, text| config.headers.used = value::truth(text)?;
    "headers.resource" "TIDEGATE_HEADERS_RESOURCE" None, "false",
        "Whether legacy fields include X-RateLimit-Resource",
        |config, text| config.headers.resource = value::truth(text)?;
    "headers.denied_by" "TIDEGATE_HEADERS_DENIED_BY" None, "true",
        "Whether a refusal says X-RateLimit-Denied-By",
        |config, text| config.headers.denied_by = value::truth(text)?;
    "headers.retry_jitter_percent" "TIDEGATE_HEADERS_RETRY_JITTER_PERCENT" None, "0",
        "By how many per cent Retry-After is lengthened at most, at random: 0 to 20",
        |config, text| config.headers.retry_jitter_percent = value::number(text, 0, 20)?;
    "headers.partition_secret" "TIDEGATE_HEADERS_PARTITION_SECRET" None, "none",
        "A file with 32 hexadecimal digits; with it, draft-10 tells which counter was charged as a keyed hash (pk)",
        |config, text| config.partition_secret = value::path(text)?;
    "answers.shadow" "TIDEGATE_ANSWERS_SHADOW" None, "false",
        "Whether answers name rules and limits in shadow mode; proxies and services pass answers on to clients",
        |config, text| config.tell_shadow = value::truth(text)?;
    "admin.token_file" "TIDEGATE_ADMIN_TOKEN_FILE" None, "none",
        "A file with the token (at least 16 letters and digits) that the admin door wants, read again when it changes: Authorization: Bearer …",
        |config, text| config.admin_token = value::path(text)?;
    "http.token_file" "TIDEGATE_HTTP_TOKEN_FILE" None, "none",
        "A file with the token (at least 16 letters and digits) that the HTTP API wants, read again when it changes: Authorization: Bearer … or X-Tidegate-Token: …",
        |config, text| config.http_token = value::path(text)?;
    "trust.peers" "TIDEGATE_TRUST_PEERS" None, "none",
        "Networks of proxies and gateways whose word counts for all attributes, with commas between, such as 10.0.0.0/8,192.0.2.7; in the file also peers with other proofs, for some attributes and doors",
        |config, text| config.trust.peers = vec![TrustedPeer::in_networks(value::networks(text)?)];
    "trust.token_file" "TIDEGATE_TRUST_TOKEN_FILE" None, "none",
        "A file with a token (at least 16 letters and digits) that makes whoever knows it as trusted: Authorization: Bearer …, X-Tidegate-Token: … or AUTH …; read again when it changes",
        |config, text| config.trust.token_file = value::path(text)?;
    "trust.attributes" "TIDEGATE_TRUST_ATTRIBUTES" None, "ip,org,plan",
        "Attributes that only they may state; what others say of them is left out and counted",
        |config, text| config.trust.attributes = value::names(text)?;
    "trust.doors" "TIDEGATE_TRUST_DOORS" None, "none",
        "Doors where that is so besides forward-auth: some of grpc, http and resp, with commas between; without it their callers may state everything",
        |config, text| config.trust.doors = value::doors(text, &Trust::DOORS)?;
    "envoy.undecided" "TIDEGATE_ENVOY_UNDECIDED" None, "over_limit",
        "What Envoy is answered if nobody could decide and the class refuses: over_limit, or unavailable (its failure mode decides)",
        |config, text| config.undecided = value::undecided(text)?;
    "envoy.metadata_descriptors" "TIDEGATE_ENVOY_METADATA_DESCRIPTORS" None, "false",
        "Whether the dynamic metadata for Envoy repeats the descriptors of the request, as envoyproxy/ratelimit does; their values may be secrets",
        |config, text| config.metadata_descriptors = value::truth(text)?;
    "tls.certificate" "TIDEGATE_TLS_CERTIFICATE" None, "none",
        "A file with the server's certificate and those between it and an authority (PEM), read again when it changes; without it all doors are plain",
        |config, text| config.tls.files.certificate = value::path(text)?;
    "tls.private_key" "TIDEGATE_TLS_PRIVATE_KEY" None, "none",
        "A file with its private key (PEM)",
        |config, text| config.tls.files.private_key = value::path(text)?;
    "tls.client_authorities" "TIDEGATE_TLS_CLIENT_AUTHORITIES" None, "none",
        "A file with the authorities (PEM) that must vouch for whoever connects to an encrypted door; without it nobody has to show a certificate",
        |config, text| config.tls.files.client_authorities = value::path(text)?;
    "tls.clients" "TIDEGATE_TLS_CLIENTS" None, "must",
        "Whether whoever connects then must show a certificate, or may: with may, those without one are served as well, and certificates say who is trusted",
        |config, text| config.tls.files.clients = value::clients(text)?;
    "tls.doors" "TIDEGATE_TLS_DOORS" None, "grpc,http,resp",
        "Which doors are encrypted: some of grpc, http, resp and admin, with commas between",
        |config, text| config.tls.doors = value::doors(text, &Tls::DOORS)?;
    "limits.in_flight" "TIDEGATE_LIMITS_IN_FLIGHT" None, "10000",
        "Checks that wait for the store at once, for each door; beyond it comfort passes and security is kept. None wait for counters in memory",
        |config, text| config.limits.in_flight = value::number(text, 1, 10_000_000)?;
    "limits.connections" "TIDEGATE_LIMITS_CONNECTIONS" None, "10000",
        "Connections open at once, for each door; further ones are closed at once",
        |config, text| config.limits.network.connections = value::number(text, 1, 1_000_000)?;
    "limits.streams" "TIDEGATE_LIMITS_STREAMS" None, "256",
        "Requests under way at once on one HTTP/2 connection",
        |config, text| config.limits.network.streams = value::number(text, 1, 100_000)?;
    "limits.body" "TIDEGATE_LIMITS_BODY" None, "1MiB",
        "The largest body of a request",
        |config, text| config.limits.body_bytes = value::bytes(text, 1024, 64 * MEBIBYTE)?;
    "limits.bodies" "TIDEGATE_LIMITS_BODIES" None, "64MiB",
        "The most bytes that each door holds at once of bodies, calls, and long commands and replies of the Redis protocol; and half as many again of heads and answers over HTTP. What finds no room is refused (503, RESOURCE_EXHAUSTED) or its connection closed (Redis protocol)",
        |config, text| config.limits.bodies_bytes = value::bytes(text, 1024, 1 << 40)?;
    "limits.batch" "TIDEGATE_LIMITS_BATCH" None, "100",
        "The most checks in one batch",
        |config, text| config.limits.batch = value::number(text, 1, 10_000)?;
    "limits.memory" "TIDEGATE_LIMITS_MEMORY" None, "256MiB",
        "The most memory for counters; beyond it those that have used the least of their limits are forgotten, and that is counted",
        |config, text| config.limits.memory_bytes = value::bytes(text, MEBIBYTE, 1 << 40)?;
    "limits.header_timeout" "TIDEGATE_LIMITS_HEADER_TIMEOUT" None, "1m",
        "How long an HTTP/1 connection waits for the whole head of its next request",
        |config, text| config.limits.network.header_timeout = value::duration(text, SECOND, HOUR)?;
    "limits.request_timeout" "TIDEGATE_LIMITS_REQUEST_TIMEOUT" None, "30s",
        "How long a request may take as a whole, its body included",
        |config, text| config.limits.network.request_timeout = value::duration(text, SECOND, HOUR)?;
    "limits.idle_timeout" "TIDEGATE_LIMITS_IDLE_TIMEOUT" None, "5m",
        "How long a connection may be open without a request",
        |config, text| config.limits.network.idle_timeout = value::duration(text, SECOND, 24 * HOUR)?;
    "limits.connection_age" "TIDEGATE_LIMITS_CONNECTION_AGE" None, "1h",
        "How long a connection may be open at all, give or take a tenth: then its peer is told to come again, and may find a core with less to do",
        |config, text| config.limits.network.connection_age = value::duration(text, SECOND, 720 * HOUR)?;
    "last_resort.node" "TIDEGATE_LAST_RESORT_NODE" None, "off",
        "How much this node lets pass when nobody can count and the class lets pass, such as 50000/s; the rest is shed with 503",
        |config, text| config.last_resort.node = value::rate(text)?;
    "last_resort.tenant" "TIDEGATE_LAST_RESORT_TENANT" None, "off",
        "The same for each tenant, or for each domain that has none, such as 500/s burst 2000",
        |config, text| config.last_resort.tenant = value::rate(text)?;
    "checkpoint.path" "TIDEGATE_CHECKPOINT_PATH" Some("checkpoint"), "auto",
        "The file, or the folder of it, in which counters of windows of an hour or more survive a restart; auto: a folder of the service or the user; off: nowhere",
        |config, text| config.checkpoint.place = value::place(text)?;
    "checkpoint.every" "TIDEGATE_CHECKPOINT_EVERY" None, "10s",
        "How often they are saved: what comes later is lost in a crash, not in a stop",
        |config, text| config.checkpoint.every = value::duration(text, SECOND / 10, HOUR)?;
    "checkpoint.max_size" "TIDEGATE_CHECKPOINT_MAX_SIZE" None, "256MiB",
        "The largest file; counters beyond it are left out, and that is counted",
        |config, text| config.checkpoint.max_bytes = value::bytes(text, 4096, 1 << 40)?;
    "shutdown.lame_duck" "TIDEGATE_SHUTDOWN_LAME_DUCK" None, "2s",
        "How long it goes on after it has said that it is not ready, so that nobody sends it anything new",
        |config, text| config.shutdown.lame_duck = value::duration(text, Duration::ZERO, HOUR)?;
    "shutdown.drain" "TIDEGATE_SHUTDOWN_DRAIN" None, "10s",
        "How long requests under way may then take",
        |config, text| config.shutdown.drain = value::duration(text, Duration::ZERO, HOUR)?;
}
