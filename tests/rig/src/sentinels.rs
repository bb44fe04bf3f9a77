//! A master, its replica, and three sentinels that watch them.

use crate::patience::until;
use crate::server::{Options, Server};

/// The name under which sentinels know the master.
const NAME: &str = "tide";

/// Five servers. Number 0 began as master, number 1 as its replica.
pub struct Sentinels {
    /// The master and its replica.
    pub servers: Vec<Server>,
    /// Those who watch.
    pub sentinels: Vec<Server>,
}

impl Sentinels {
    /// Sentinels that give a silent master up after this many milliseconds.
    pub fn start(down_after_ms: u32) -> Self {
        Self::with(&Options::default(), down_after_ms)
    }

    /// The same with options of its own for master and replica.
    pub fn with(options: &Options, down_after_ms: u32) -> Self {
        let master = Server::with(options);
        let replica =
            Server::with(&options.clone().line("replicaof", &format!("127.0.0.1 {}", master.port())));
        until("the replica to follow", || {
            replica.ask::<String>(&["INFO", "replication"]).contains("master_link_status:up").then_some(())
        });
        let watch = Options { sentinel: true, lines: Vec::new(), tls: None, ..options.clone() }
            .line("sentinel monitor", &format!("{NAME} 127.0.0.1 {} 2", master.port()))
            .line("sentinel down-after-milliseconds", &format!("{NAME} {down_after_ms}"))
            .line("sentinel failover-timeout", &format!("{NAME} {}", 4 * down_after_ms));
        let sentinels = (0..3).map(|_| Server::with(&watch)).collect();
        let group = Self { servers: vec![master, replica], sentinels };
        until("the sentinels to know each other", || group.know_each_other().then_some(()));
        group
    }

    /// `redis-sentinel://` with the addresses of all sentinels and the master's name.
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.sentinels.iter().map(Server::address).collect();
        format!("redis-sentinel://{}/{NAME}", addresses.join(","))
    }

    /// The number of the server that the first sentinel that runs takes for the master.
    ///
    /// # Panics
    /// When no sentinel answers.
    pub fn master(&self) -> Option<usize> {
        let sentinel = self.sentinels.iter().find(|sentinel| sentinel.runs()).expect("a sentinel runs");
        let (_, port): (String, u16) = sentinel.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]);
        self.servers.iter().position(|server| server.port() == port)
    }

    fn know_each_other(&self) -> bool {
        let row = format!("name={NAME},status=ok");
        self.sentinels.iter().all(|sentinel| {
            let info: String = sentinel.ask(&["INFO", "sentinel"]);
            info.contains(&row) && info.contains("slaves=1,sentinels=3")
        })
    }
}
