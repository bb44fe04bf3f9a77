//! A Cluster of three masters with a replica each.

use redis::Value;

use crate::patience::until;
use crate::server::{Options, Server};

const SLOTS: u16 = 16_384;
const MASTERS: usize = 3;

/// Six servers that know each other. The first three began as masters, each with a third of the slots.
pub struct Cluster {
    /// The servers. Number `n` and number `n + 3` have the same slots.
    pub nodes: Vec<Server>,
}

impl Cluster {
    /// A Cluster that gives a silent master up after this many milliseconds, and whose other parts go on meanwhile.
    pub fn start(node_timeout_ms: u32) -> Self {
        Self::with(&Options::default(), node_timeout_ms)
    }

    /// The same with options of its own for every server.
    pub fn with(options: &Options, node_timeout_ms: u32) -> Self {
        let options = Options { cluster: true, ..options.clone() }
            .line("cluster-node-timeout", &node_timeout_ms)
            .line("cluster-require-full-coverage", &"no")
            .line("cluster-replica-validity-factor", &0);
        let nodes = (0..2 * MASTERS).map(|_| Server::with(&options)).collect();
        let cluster = Self { nodes };
        cluster.introduce();
        cluster.give_slots();
        cluster.give_replicas();
        until("the cluster to be whole", || cluster.is_whole().then_some(()));
        cluster
    }

    /// `redis-cluster://` with the addresses of all its servers.
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.nodes.iter().map(Server::address).collect();
        format!("redis-cluster://{}", addresses.join(","))
    }

    /// The number of the server that is master of a slot, in the eyes of a server that answers and is not the one to leave out.
    ///
    /// # Panics
    /// When nobody answers.
    pub fn master_of(&self, slot: u16, leave_out: Option<usize>) -> Option<usize> {
        let witness =
            (0..self.nodes.len()).find(|&number| Some(number) != leave_out && self.nodes[number].runs());
        let port = owner(&self.nodes[witness.expect("somebody runs")].ask(&["CLUSTER", "SLOTS"]), slot)?;
        self.nodes.iter().position(|node| node.port() == port)
    }

    /// A server that is neither this one nor one that shares its slots, and is a master.
    ///
    /// # Panics
    /// When there is none.
    pub fn other_master(&self, than: usize) -> usize {
        let is_master = |number: &usize| {
            let role: Vec<Value> = self.nodes[*number].ask(&["ROLE"]);
            matches!(&role[0], Value::BulkString(name) if name == b"master")
        };
        (0..self.nodes.len())
            .filter(|number| number % MASTERS != than % MASTERS && self.nodes[*number].runs())
            .find(is_master)
            .expect("the other slots have masters")
    }

    /// Begins to move a slot: from now on it is on its way.
    pub fn begin_to_move(&self, slot: u16, from: usize, to: usize) {
        let slot = slot.to_string();
        self.nodes[to].ask::<()>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &self.name(from)]);
        self.nodes[from].ask::<()>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &self.name(to)]);
    }

    /// Moves one key of a slot that is on its way.
    pub fn move_key(&self, key: &str, from: usize, to: usize) {
        let port = self.nodes[to].port().to_string();
        self.nodes[from].ask::<()>(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]);
    }

    /// Moves what is left of a slot and makes the target its owner.
    pub fn finish_move(&self, slot: u16, from: usize, to: usize) {
        let slot = slot.to_string();
        loop {
            let keys: Vec<String> = self.nodes[from].ask(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"]);
            if keys.is_empty() {
                break;
            }
            for key in keys {
                self.move_key(&key, from, to);
            }
        }
        for node in [to, from] {
            self.nodes[node].ask::<()>(&["CLUSTER", "SETSLOT", &slot, "NODE", &self.name(to)]);
        }
    }

    fn name(&self, number: usize) -> String {
        self.nodes[number].ask(&["CLUSTER", "MYID"])
    }

    fn introduce(&self) {
        for (number, node) in self.nodes.iter().enumerate() {
            node.ask::<()>(&["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]);
        }
        // Everybody meets everybody, because hearsay takes seconds.
        for (number, node) in self.nodes.iter().enumerate() {
            let (port, bus) = (node.port().to_string(), node.bus_port().to_string());
            for other in &self.nodes[..number] {
                other.ask::<()>(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
            }
        }
        until("the nodes to know each other", || {
            let known = |node: &Server| node.ask::<String>(&["CLUSTER", "NODES"]);
            let all = |text: String| {
                text.matches("connected\n").count() >= self.nodes.len() - 1 && !text.contains("handshake")
            };
            self.nodes.iter().map(known).all(all).then_some(())
        });
    }

    fn give_slots(&self) {
        let share = usize::from(SLOTS).div_ceil(MASTERS);
        for (number, node) in self.nodes[..MASTERS].iter().enumerate() {
            let last = ((number + 1) * share).min(usize::from(SLOTS)) - 1;
            node.ask::<()>(&["CLUSTER", "ADDSLOTSRANGE", &(number * share).to_string(), &last.to_string()]);
        }
    }

    fn give_replicas(&self) {
        for number in 0..MASTERS {
            let master = self.name(number);
            let replica = &self.nodes[number + MASTERS];
            until("a node to become a replica", || {
                replica.try_to_ask(&["CLUSTER", "REPLICATE", &master]).ok()
            });
        }
    }

    fn is_whole(&self) -> bool {
        let ready = |node: &Server| node.ask::<String>(&["CLUSTER", "INFO"]).contains("cluster_state:ok");
        let replicates =
            |node: &Server| node.ask::<String>(&["INFO", "replication"]).contains("master_link_status:up");
        let slots = |node: &Server| ranges_with_replica(&node.ask(&["CLUSTER", "SLOTS"])) == MASTERS;
        self.nodes.iter().all(|node| ready(node) && slots(node))
            && self.nodes[MASTERS..].iter().all(replicates)
    }
}

/// The slot of keys with this tag.
pub fn slot_of_tag(tag: &str) -> u16 {
    let crc = tag.bytes().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    });
    crc % SLOTS
}

/// The port of a slot's master in an answer to `CLUSTER SLOTS`.
fn owner(answer: &Value, slot: u16) -> Option<u16> {
    rows(answer).iter().find_map(|row| match row.as_slice() {
        [Value::Int(first), Value::Int(last), Value::Array(master), ..]
            if (*first..=*last).contains(&i64::from(slot)) =>
        {
            match master.get(1) {
                Some(Value::Int(port)) => u16::try_from(*port).ok(),
                _ => None,
            }
        }
        _ => None,
    })
}

fn ranges_with_replica(answer: &Value) -> usize {
    rows(answer).iter().filter(|row| row.len() == 4).count()
}

fn rows(answer: &Value) -> Vec<&Vec<Value>> {
    let Value::Array(rows) = answer else { return Vec::new() };
    rows.iter().filter_map(|row| if let Value::Array(row) = row { Some(row) } else { None }).collect()
}
