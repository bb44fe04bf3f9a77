//! What a server says of itself.

use std::collections::HashMap;
use std::time::Duration;

/// What was heard of one server.
#[derive(Debug, Default)]
pub(super) struct Facts {
    info: HashMap<String, String>,
    pub(super) settings: HashMap<&'static str, String>,
    /// How long an answer takes: the middle one, and the longest.
    pub(super) latency: Option<(Duration, Duration)>,
}

impl Facts {
    /// Takes lines of the form `name:value`.
    pub(super) fn take_info(&mut self, info: &str) {
        let lines = info.lines().filter_map(|line| line.split_once(':'));
        self.info.extend(lines.map(|(name, value)| (name.to_owned(), value.trim().to_owned())));
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.info.get(name).map(String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// Whether it is Valkey, and its version. Valkey says which Redis it is like as well.
    pub(super) fn version(&self) -> Option<(bool, &str)> {
        let valkey = self.get("valkey_version").map(|version| (true, version));
        valkey.or_else(|| self.get("redis_version").map(|version| (false, version)))
    }

    /// Keys in all databases, and bytes of memory for each.
    pub(super) fn keys(&self) -> Option<(u64, u64)> {
        let keys_of = |line: &String| {
            line.split(',')
                .find_map(|part| part.strip_prefix("keys="))
                .and_then(|keys| keys.parse::<u64>().ok())
        };
        let databases = self.info.iter().filter(|(name, _)| {
            name.strip_prefix("db").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        });
        let keys: u64 = databases.filter_map(|(_, line)| keys_of(line)).sum();
        let used =
            self.number("used_memory")?.saturating_sub(self.number("used_memory_startup").unwrap_or(0));
        Some((keys, used.checked_div(keys).unwrap_or(0)))
    }

    /// For people.
    pub(super) fn shown(&self) -> Vec<(&'static str, String)> {
        let mut shown = Vec::new();
        let mut add = |name, value: Option<String>| shown.extend(value.map(|value| (name, value)));
        let named =
            |(is_valkey, version)| format!("{} {version}", if is_valkey { "Valkey" } else { "Redis" });
        add("version", self.version().map(named));
        add("role", self.get("role").map(str::to_owned));
        add("memory", self.get("used_memory_human").map(str::to_owned));
        add(
            "maxmemory",
            self.setting("maxmemory")
                .map(|bytes| if bytes == "0" { "none".to_owned() } else { format!("{bytes} bytes") }),
        );
        add("policy", self.setting("maxmemory-policy").map(str::to_owned));
        let keys = self.keys().filter(|(keys, _)| *keys > 0);
        add("keys", keys.map(|(keys, bytes)| format!("{keys}, about {bytes} bytes each")));
        add("clients", self.get("connected_clients").map(str::to_owned));
        let latency = self.latency.map(|(middle, most)| {
            format!("{} us in the middle, {} us at most", middle.as_micros(), most.as_micros())
        });
        add("latency", latency);
        shown
    }
}
