//! Words of other products, and what they are here.

/// Keys of other products, each with the key that it stands for: of limits, then of rules.
const LIMIT_KEYS: [(&str, &str); 24] = [
    ("refill_rate", "refill"),
    ("leak_rate", "refill"),
    ("fill_rate", "refill"),
    ("rate", "refill"),
    ("requests", "amount"),
    ("max", "amount"),
    ("max_requests", "amount"),
    ("limit", "amount"),
    ("count", "amount"),
    ("quota", "amount"),
    ("period", "per"),
    ("interval", "per"),
    ("duration", "per"),
    ("window_size", "per"),
    ("time_window", "per"),
    ("burst_size", "burst"),
    ("max_burst", "burst"),
    ("bucket_size", "capacity"),
    ("size", "capacity"),
    ("max_concurrent", "slots"),
    ("ttl", "term"),
    ("timeout", "term"),
    ("timezone", "tz"),
    ("time_zone", "tz"),
];

const RULE_KEYS: [(&str, &str); 22] = [
    ("shadow", "mode"),
    ("shadow_mode", "mode"),
    ("dry_run", "mode"),
    ("enabled", "mode"),
    ("disabled", "mode"),
    ("key", "by"),
    ("keys", "by"),
    ("group_by", "by"),
    ("identifier", "by"),
    ("rate", "limit"),
    ("rate_limit", "limit"),
    ("rates", "limits"),
    ("quota", "limit"),
    ("if", "match"),
    ("conditions", "match"),
    ("matches", "match"),
    ("id", "name"),
    ("status_code", "status"),
    ("then", "action"),
    ("on_exceeded", "action"),
    ("expires", "expires_at"),
    ("ban", "block_for"),
];

/// What stands in `match`, one level deeper.
const MATCHED: [&str; 12] =
    ["path", "method", "host", "ip", "plan", "user", "api_key", "org", "headers", "query", "any", "all"];

/// Values of other products, each with the key, and the word that it stands for.
const WORDS: [(&str, &str, &str); 23] = [
    ("algorithm", "sliding_window_counter", "sliding_window"),
    ("algorithm", "sliding", "sliding_window"),
    ("algorithm", "sliding_window_log", "sliding_log"),
    ("algorithm", "fixed_window_counter", "fixed_window"),
    ("algorithm", "fixed", "fixed_window"),
    ("algorithm", "token", "token_bucket"),
    ("algorithm", "bucket", "token_bucket"),
    ("algorithm", "leaky", "leaky_bucket"),
    ("algorithm", "concurrent", "concurrency"),
    ("algorithm", "semaphore", "concurrency"),
    ("mode", "dry_run", "shadow"),
    ("mode", "dry-run", "shadow"),
    ("mode", "monitor", "shadow"),
    ("mode", "log", "shadow"),
    ("mode", "on", "enforce"),
    ("mode", "enabled", "enforce"),
    ("mode", "disabled", "off"),
    ("action", "throttle", "delay"),
    ("action", "queue", "delay"),
    ("action", "allow", "bypass"),
    ("action", "pass", "bypass"),
    ("action", "skip", "bypass"),
    ("action", "count", "log"),
];

/// The key that an unknown one stands for, of the object with that name.
pub(crate) fn key(object: &str, written: &str) -> Option<&'static str> {
    let table = if object == crate::reference::LIMIT.name {
        &LIMIT_KEYS[..]
    } else if object == crate::reference::RULE.name {
        &RULE_KEYS[..]
    } else {
        &[]
    };
    let lower = written.to_ascii_lowercase();
    table.iter().find(|(other, _)| *other == lower).map(|(_, meant)| *meant)
}

/// What to write in place of an unknown key, if the name of a key does not say it.
pub(crate) fn instead_of_key(object: &str, written: &str) -> Option<String> {
    let is_rule = object == crate::reference::RULE.name;
    match written {
        "shadow" | "shadow_mode" | "dry_run" if is_rule => Some("write `mode: shadow`".to_owned()),
        "enabled" | "disabled" if is_rule => Some("write `mode: enforce` or `mode: off`".to_owned()),
        _ if is_rule && crate::reference::LIMIT.field(written).is_some() => {
            Some(format!("it belongs to the limit: write `limit: {{ …, {written}: … }}`"))
        }
        _ if is_rule && MATCHED.contains(&written) => Some(format!("write `match: {{ {written}: … }}`")),
        "refill_rate" | "leak_rate" | "fill_rate" if object == crate::reference::LIMIT.name => {
            Some("write the rate with its unit, such as `refill: 10/s`".to_owned())
        }
        _ => None,
    }
}

/// The word that an unknown one stands for.
pub(crate) fn word(key: &str, written: &str) -> Option<&'static str> {
    let lower = written.to_ascii_lowercase();
    WORDS.iter().find(|(of, other, _)| *of == key && *other == lower).map(|(_, _, meant)| *meant)
}

/// What to write in place of an unknown word, if no single word says it.
pub(crate) fn instead_of_word(key: &str, written: &str) -> Option<&'static str> {
    match (key, written.to_ascii_lowercase().as_str()) {
        ("action", "deny" | "refuse" | "drop") => {
            Some("write `reject` to refuse past the limit, or `block` to refuse every match")
        }
        ("action", "shadow" | "monitor" | "dry_run") => {
            Some("write `mode: shadow` to judge and count without refusing")
        }
        ("action", "challenge" | "captcha") => Some(
            "Tidegate sends no challenges: write `degrade`, which lets the request pass and tells the service behind \
             it, or one of reject, delay, log, block, bypass, unlimited",
        ),
        _ => None,
    }
}
