//! Log lines about requests, bounded by cause: unknown domains, peers that are not believed, and rules that only log.
//!
//! The request path counts; a background task looks at the counts once a second and logs what is new.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tidegate_engine::Engine;
use tidegate_engine::observe::Came;
use tidegate_rules::diagnostic::nearest;
use tidegate_rules::rule::Action;
use tidegate_wire::trust::Trust;
use tokio::time::{MissedTickBehavior, interval};

use crate::stack::Stack;

const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The most rules that are logged at one look; the busiest first.
const MAX_LOGGED_RULES: usize = 20;

/// The most characters of a caller's domain that are logged.
const MAX_DOMAIN_CHARS: usize = 64;

/// Finds what is to be logged.
pub(crate) struct Notices {
    engine: Arc<Engine<Stack>>,
    forwarded: Trust,
    told_domains: BTreeSet<Box<str>>,
    told_peers: BTreeSet<IpAddr>,
    logged_before: BTreeMap<(Box<str>, Box<str>), u64>,
}

/// A line for the log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Notice {
    UnknownDomain { domain: String, nearest: Option<String> },
    IgnoredPeer(IpAddr),
    LogRule { count: u64, domain: Box<str>, rule: Box<str> },
}

impl Notices {
    /// Notices about checks of an engine, and about callers of forward-auth.
    pub(crate) fn new(engine: Arc<Engine<Stack>>, forwarded: Trust) -> Self {
        let (told_domains, told_peers, logged_before) = Default::default();
        Self { engine, forwarded, told_domains, told_peers, logged_before }
    }

    /// Logs for as long as it is polled.
    pub(crate) async fn run(mut self) {
        let mut looks = interval(BETWEEN_LOOKS);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            self.look().iter().for_each(Notice::log);
        }
    }

    fn look(&mut self) -> Vec<Notice> {
        let mut found = self.unknown_domains();
        found.extend(self.ignored_peers());
        found.extend(self.log_rules());
        found
    }

    /// Without any rules every domain is unknown, which the start of the server says.
    fn unknown_domains(&mut self) -> Vec<Notice> {
        let snapshot = self.engine.snapshot();
        if snapshot.rules() == 0 {
            return Vec::new();
        }
        let asked = self.engine.observed().unknown_names().named();
        let asked = asked.into_iter().map(|(name, _)| name);
        let new: Vec<_> = asked.filter(|name| snapshot.domain(name).is_none()).collect();
        let known = || snapshot.domains().map(|domain| &*domain.name);
        let mut found = Vec::new();
        for name in new {
            let nearest = nearest(&name, known()).map(str::to_owned);
            let domain = name.escape_debug().take(MAX_DOMAIN_CHARS).collect();
            if self.told_domains.insert(name) {
                found.push(Notice::UnknownDomain { domain, nearest });
            }
        }
        found
    }

    fn ignored_peers(&mut self) -> Vec<Notice> {
        let peers = self.forwarded.ignored_peers();
        peers.into_iter().filter(|peer| self.told_peers.insert(*peer)).map(Notice::IgnoredPeer).collect()
    }

    /// Rules whose action is `log` and whose limit was exceeded since the last look.
    fn log_rules(&mut self) -> Vec<Notice> {
        let snapshot = self.engine.snapshot();
        let names: BTreeSet<(&str, &str)> = snapshot
            .domains()
            .flat_map(|domain| domain.rules.iter().map(move |rule| (domain, rule)))
            .filter(|(_, rule)| rule.action == Action::Log)
            .map(|(domain, rule)| (&*domain.name, &*rule.name))
            .collect();
        if names.is_empty() {
            self.logged_before.clear();
            return Vec::new();
        }
        let (mut found, mut logged) = (Vec::new(), BTreeMap::new());
        for (domain, rule, counts) in self.engine.observed().rules() {
            if !names.contains(&(&*domain, &*rule)) {
                continue;
            }
            let (name, total) = ((domain, rule), counts.get(Came::ShadowDenied));
            let before = self.logged_before.get(&name).copied().filter(|before| *before <= total);
            let count = total - before.unwrap_or(0);
            if count > 0 {
                let (domain, rule) = name.clone();
                found.push(Notice::LogRule { count, domain, rule });
            }
            logged.insert(name, total);
        }
        self.logged_before = logged;
        found.sort_by(|one, other| other.cmp(one));
        found.truncate(MAX_LOGGED_RULES);
        found
    }
}

/// What to write so that a peer is believed. YAML wants quotes around colons.
fn trusting(peer: IpAddr) -> String {
    let quote = if peer.is_ipv6() { "\"" } else { "" };
    format!("trust: {{ peers: [{quote}{peer}{quote}] }}")
}

impl Notice {
    fn log(&self) {
        match self {
            Self::UnknownDomain { domain, nearest } => {
                let meant = nearest.as_deref();
                tracing::warn!(domain, meant, "the rules have no such domain: its requests pass uncounted");
            }
            Self::IgnoredPeer(peer) => {
                let write = trusting(*peer);
                tracing::warn!(
                    door = "authorize",
                    %peer,
                    write,
                    "forwarding headers of a peer that is not trusted are ignored; rules on `path` and other forwarded facts do not apply to its requests"
                );
            }
            Self::LogRule { count, domain, rule } => {
                tracing::warn!(%domain, %rule, count, "rule with `action: log` was exceeded");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use tidegate_core::Timestamp;
    use tidegate_engine::Check;
    use tidegate_rules::{Source, compile};
    use tidegate_store::Memory;
    use tidegate_wire::trust::Peer;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

    fn notices(rules: &str) -> Notices {
        let engine = Engine::new(Stack::Memory(Memory::new()));
        engine.install(compile(vec![Source::new("api.yaml", rules)]).snapshot.unwrap());
        Notices::new(Arc::new(engine), Trust::only_forwarded(Vec::new(), ["org"]))
    }

    async fn ask(notices: &Notices, domain: &str, user: &str) {
        let check = Check { attributes: &[("user", user)], ..Check::new(domain) };
        assert!(notices.engine.check(&check, NOW).await.unwrap().allowed());
    }

    #[tokio::test]
    async fn tells_unknown_domain_once() {
        let mut notices = notices("domain: api\nrules: [{ name: a, by: [user], limit: 9/min }]");
        for domain in ["apo", "apo", "api", "zzz"] {
            ask(&notices, domain, "u").await;
        }
        let unknown = |domain: &str, nearest: Option<&str>| Notice::UnknownDomain {
            domain: domain.to_owned(),
            nearest: nearest.map(str::to_owned),
        };
        assert_eq!(notices.look(), [unknown("apo", Some("api")), unknown("zzz", None)]);
        ask(&notices, "apo", "u").await;
        assert_eq!(notices.look(), []);
    }

    #[tokio::test]
    async fn log_rule_logs() {
        let rules = "domain: api\nrules: [{ name: seen, by: [user], limit: 1/min, action: log }]";
        let mut notices = notices(rules);
        ask(&notices, "api", "u").await;
        assert_eq!(notices.look(), []);
        for _ in 0..3 {
            ask(&notices, "api", "u").await;
        }
        let expected = Notice::LogRule { count: 3, domain: "api".into(), rule: "seen".into() };
        assert_eq!(notices.look(), [expected]);
        assert_eq!(notices.look(), [], "it is logged once");
    }

    #[test]
    fn tells_what_to_write() {
        let write = |peer: &str| trusting(peer.parse().unwrap());
        assert_eq!(write("10.0.0.5"), "trust: { peers: [10.0.0.5] }");
        assert_eq!(write("::1"), "trust: { peers: [\"::1\"] }");
    }

    #[test]
    fn tells_each_ignored_peer_once() {
        let mut notices = notices("domain: api\nrules: []");
        let claim = |address: &str| {
            let peer = Peer::at(address.parse().unwrap());
            let caller = notices.forwarded.caller(Some(&peer), &HeaderMap::new());
            assert!(notices.forwarded.ignores(caller, "path"));
        };
        for address in ["192.0.2.1:80", "192.0.2.1:81", "192.0.2.2:80"] {
            claim(address);
        }
        let peer = |address: &str| Notice::IgnoredPeer(address.parse().unwrap());
        assert_eq!(notices.look(), [peer("192.0.2.1"), peer("192.0.2.2")]);
        assert_eq!(notices.look(), []);
    }
}
