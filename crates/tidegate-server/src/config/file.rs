//! The configuration file: held against its table of keys, then read setting by setting. Whatever is wrong is said with its
//! place, all of it in one go.

use tidegate_rules::shape::{self, Field, Object, Shape};
use tidegate_rules::yaml::{self, Node, Value};
use tidegate_rules::{Diagnostic, Diagnostics, Source};

use super::value::Wrong;
use super::{Config, SETTINGS, Setting, hidden, peer, value};

/// A value has the form of a text here; what it means is for its setting to say.
const fn key(name: &'static str) -> Field {
    Field { name, shape: Shape::Text, doc: "" }
}

/// The same, or a list of them.
const fn list(name: &'static str) -> Field {
    Field { name, shape: Shape::OneOrMore(&Shape::Text), doc: "" }
}

const fn part(name: &'static str, object: &'static Object) -> Field {
    Field { name, shape: Shape::Object(object), doc: object.doc }
}

/// The whole file.
pub(super) static FILE: Object = Object {
    name: "the configuration",
    doc: "How a server is set up.",
    keys: &[
        part("listen", &LISTEN),
        key("rules"),
        key("runtime"),
        key("store"),
        Field {
            name: "stores",
            shape: Shape::Map(&Shape::Text),
            doc: "Tenants with servers of their own: domain/tenant and an address; domain/* for all of a domain, domain/*?plan=enterprise for a tier.",
        },
        part("redis", &REDIS),
        part("resp", &RESP),
        part("log", &LOG),
        part("headers", &HEADERS),
        part("answers", &ANSWERS),
        part("admin", &ADMIN),
        part("http", &HTTP),
        part("trust", &TRUST),
        part("envoy", &ENVOY),
        part("tls", &TLS),
        part("limits", &LIMITS),
        part("last_resort", &LAST_RESORT),
        part("checkpoint", &CHECKPOINT),
        part("shutdown", &SHUTDOWN),
    ],
};

static LISTEN: Object = Object {
    name: "listen",
    doc: "Where each door listens.",
    keys: &[key("grpc"), key("http"), key("resp"), key("admin")],
};

static REDIS: Object = Object {
    name: "redis",
    doc: "How Redis is asked, where counters live there.",
    keys: &[
        key("prefix"),
        key("secret"),
        key("deadline"),
        key("connections"),
        key("in_flight"),
        key("password_file"),
        key("sentinel_user"),
        key("sentinel_password_file"),
        key("authorities"),
        key("certificate"),
        key("private_key"),
    ],
};

static RESP: Object =
    Object { name: "resp", doc: "Who may ask over the Redis protocol.", keys: &[key("password_file")] };

static LOG: Object =
    Object { name: "log", doc: "What is logged, and how.", keys: &[key("level"), key("format")] };

static HEADERS: Object = Object {
    name: "headers",
    doc: "Which headers tell callers about limits.",
    keys: &[
        key("ietf"),
        key("legacy"),
        key("used"),
        key("resource"),
        key("denied_by"),
        key("retry_jitter_percent"),
        key("partition_secret"),
    ],
};

static ADMIN: Object =
    Object { name: "admin", doc: "Who may ask the admin door.", keys: &[key("token_file")] };

static HTTP: Object = Object { name: "http", doc: "Who may ask the HTTP API.", keys: &[key("token_file")] };

static TRUST: Object = Object {
    name: "trust",
    doc: "Whose word counts for which attribute.",
    keys: &[
        Field { name: "peers", shape: peer::PEERS, doc: "" },
        key("token_file"),
        list("attributes"),
        list("doors"),
    ],
};

static ENVOY: Object = Object {
    name: "envoy",
    doc: "What Envoy is answered.",
    keys: &[key("undecided"), key("metadata_descriptors")],
};

static ANSWERS: Object = Object { name: "answers", doc: "What answers tell.", keys: &[key("shadow")] };

static TLS: Object = Object {
    name: "tls",
    doc: "Which doors are encrypted, and with what.",
    keys: &[key("certificate"), key("private_key"), key("client_authorities"), key("clients"), list("doors")],
};

static LIMITS: Object = Object {
    name: "limits",
    doc: "Bounds on everything that callers can make grow.",
    keys: &[
        key("in_flight"),
        key("connections"),
        key("streams"),
        key("body"),
        key("bodies"),
        key("batch"),
        key("memory"),
        key("header_timeout"),
        key("request_timeout"),
        key("idle_timeout"),
        key("connection_age"),
    ],
};

static LAST_RESORT: Object = Object {
    name: "last_resort",
    doc: "What is let pass when nobody can count.",
    keys: &[key("node"), key("tenant")],
};

static CHECKPOINT: Object = Object {
    name: "checkpoint",
    doc: "How counters survive a restart.",
    keys: &[key("path"), key("every"), key("max_size")],
};

static SHUTDOWN: Object =
    Object { name: "shutdown", doc: "How it stops.", keys: &[key("lame_duck"), key("drain")] };

/// Sets everything that the file says; what is wrong with it.
pub(super) fn read(source: &Source, config: &mut Config) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    let Some(node) = yaml::parse(source, &mut diagnostics) else { return diagnostics };
    if node.value == Value::Null {
        return diagnostics;
    }
    shape::check(&node, &Shape::Object(&FILE), "configuration", &mut diagnostics);
    for setting in SETTINGS {
        if let Some(value) = find(&node, setting) {
            for (node, message) in set(setting, value, config) {
                diagnostics.push(said(setting.key, node, &message));
            }
        }
    }
    if let Some(peers) = node.get("trust").and_then(|trust| trust.get("peers")) {
        peer::read(peers, &mut config.trust, &mut diagnostics);
    }
    if let Some(Value::Map(stores)) = node.get("stores").map(|stores| &stores.value) {
        for (whose, address) in stores {
            let text = address.text().unwrap_or_default();
            match value::own_store(&whose.name, &text) {
                Ok(store) => config.stores.push(store),
                Err(message) => {
                    let key = format!("stores.{}", hidden::without_login(&whose.name));
                    diagnostics.push(said(&key, address, &message));
                }
            }
        }
    }
    diagnostics
}

/// What is wrong, and where.
pub(super) type Misplaced<'n> = (&'n Node, Wrong);

/// A remark on the value of a setting.
pub(super) fn said(key: &str, node: &Node, message: &str) -> Diagnostic {
    Diagnostic::error("setting", node.span, format!("{key}: {message}"))
}

/// Sets what a key says; all that is wrong with it.
fn set<'n>(setting: &Setting, node: &'n Node, config: &mut Config) -> Vec<Misplaced<'n>> {
    match read_value(node, |text| (setting.set)(config, text)) {
        Ok(None) => {}
        Ok(Some(())) => drop(config.given.insert(setting.key)),
        Err(wrong) => return wrong,
    }
    Vec::new()
}

/// Reads a value as a variable would have it, if it is one. Of a list, everything that is wrong in it is told in its place.
pub(super) fn read_value<T>(
    node: &Node,
    mut read: impl FnMut(&str) -> Result<T, Wrong>,
) -> Result<Option<T>, Vec<Misplaced<'_>>> {
    let Some(text) = written(node) else { return Ok(None) };
    let message = match text.and_then(|text| read(&text)) {
        Ok(value) => return Ok(Some(value)),
        Err(message) => message,
    };
    let items = if let Value::List(items) = &node.value { items.as_slice() } else { &[] };
    let wrong: Vec<_> = items.iter().filter_map(|item| Some((item, read(&item.text()?).err()?))).collect();
    Err(if wrong.is_empty() { vec![(node, message)] } else { wrong })
}

/// What stands in a list, with commas between. A key with nothing behind it must not pass for one that is not there: it may
/// be what closes a door.
fn written(node: &Node) -> Option<Result<String, Wrong>> {
    let items = match &node.value {
        Value::Null => return Some(Err("it has no value; write one, or leave the key out".to_owned())),
        Value::List(items) => items,
        _ => return node.text().map(Ok),
    };
    let texts: Option<Vec<_>> = items.iter().map(Node::text).collect();
    texts.map(|texts| Ok(texts.join(",")))
}

pub(super) fn find<'n>(node: &'n Node, setting: &Setting) -> Option<&'n Node> {
    setting.key.split('.').try_fold(node, |node, key| node.get(key))
}
