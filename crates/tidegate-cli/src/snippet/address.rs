//! A host and a port, as files of configuration have them.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// A name or an address; one of IPv6 without brackets.
    host: String,
    port: u16,
}

impl Address {
    /// On this machine.
    pub(super) fn local(port: u16) -> Self {
        Self { host: "127.0.0.1".to_owned(), port }
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a host and a port, such as 127.0.0.1:8080 or limits.internal:8080".to_owned();
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
        let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let host = match in_brackets {
            Some(host) => host.parse::<Ipv6Addr>().map_err(|_| wrong())?.to_string(),
            None if !host.is_empty() && host.bytes().all(plain) => host.to_owned(),
            None => return Err(wrong()),
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_taken_and_all_else_is_not() {
        for (text, host) in
            [("127.0.0.1:80", "127.0.0.1"), ("api.internal:80", "api.internal"), ("[::1]:80", "::1")]
        {
            let address: Address = text.parse().unwrap();
            assert_eq!((address.host(), address.port(), address.to_string().as_str()), (host, 80, text));
        }
        for odd in
            ["", "80", ":80", "api", "api:0", "api:x", "a b:80", "a;b:80", "::1:80", "[x]:80", "{x}:80"]
        {
            assert!(odd.parse::<Address>().is_err(), "{odd}");
        }
    }
}
