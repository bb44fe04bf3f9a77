//! Where servers are: the text after `--store`, as meant.

mod parse;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use super::secret::Secret;

/// Where servers are and how they are arranged, read from an address such as `redis://host`, `rediss://user:password@host:port/2`,
/// `redis-cluster://host,host` or `redis-sentinel://host,host/name-of-the-master`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// How the servers are arranged.
    pub(crate) layout: Layout,
    /// Servers that are asked first; of Sentinel, the sentinels.
    pub(crate) places: Vec<Place>,
    /// Who we are.
    pub(crate) user: Option<String>,
    /// What proves it.
    pub(crate) password: Option<Secret>,
    /// The number of the database.
    pub(crate) database: u16,
    /// Whether connections are encrypted.
    pub(crate) tls: bool,
}

impl Address {
    /// The hosts and ports that are asked first, without who we are there.
    pub fn servers(&self) -> String {
        self.places.iter().map(Place::to_string).collect::<Vec<_>>().join(",")
    }
}

/// How servers are arranged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One server that is always the same.
    Single,
    /// Sentinels that say which server is the master of this name.
    Sentinel { master: String },
    /// Many masters that share the slots.
    Cluster,
}

/// One server's host and port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            return write!(formatter, "[{}]:{}", self.host, self.port);
        }
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

/// Why an address is not understood: what is wrong, where, and what to write instead. Passwords are masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError {
    problem: String,
    help: String,
    shown: String,
    from: usize,
    to: usize,
}

impl AddressError {
    /// What is wrong and what to write, in one line, for where the place is shown otherwise.
    pub fn in_short(&self) -> String {
        format!("{}; {}", self.problem, self.help)
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.problem)?;
        writeln!(formatter, "  | {}", self.shown)?;
        let before = self.shown[..self.from].chars().count();
        let marks = self.shown[self.from..self.to].chars().count().max(1);
        writeln!(formatter, "  | {:before$}{}", "", "^".repeat(marks))?;
        write!(formatter, "  = help: {}", self.help)
    }
}

impl std::error::Error for AddressError {}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::address(text)
    }
}
