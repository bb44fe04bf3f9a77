//! Lines for a shell that ask a door, with what proves who asks and as far as the settings know it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// A door as those see it who ask.
pub(crate) struct Seen<'p> {
    pub(crate) address: SocketAddr,
    pub(crate) encrypted: bool,
    /// The file of its token or password.
    pub(crate) secret: Option<&'p Path>,
}

impl Seen<'_> {
    fn scheme(&self) -> &'static str {
        if self.encrypted { "https" } else { "http" }
    }

    /// What a shell puts in place of the secret.
    fn told(&self) -> Option<String> {
        self.secret.map(|path| format!("$(cat {})", word(&path.display().to_string())))
    }

    /// Where this machine reaches it if it listens everywhere.
    fn nearby(&self) -> SocketAddr {
        let ip = match self.address.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        SocketAddr::new(ip, self.address.port())
    }
}

/// A line that asks the HTTP door.
pub(super) fn curl(door: &Seen<'_>, body: &str) -> String {
    let body = quoted(body);
    let at = match door.address {
        address if address.ip().is_unspecified() => format!("localhost:{}", address.port()),
        address => address.to_string(),
    };
    let token = door.told().map(|told| format!(" -H \"Authorization: Bearer {told}\"")).unwrap_or_default();
    let scheme = door.scheme();
    format!("curl -i {scheme}://{at}/v1/check{token} -H 'content-type: application/json' -d {body}")
}

/// A line that asks over the Redis protocol. The password stands in no list of processes.
pub(crate) fn redis_cli(door: &Seen<'_>) -> String {
    let at = door.nearby();
    let host = if at.ip() == Ipv4Addr::LOCALHOST { String::new() } else { format!(" -h {}", at.ip()) };
    let password = door.told().map(|told| format!("REDISCLI_AUTH=\"{told}\" ")).unwrap_or_default();
    let tls = if door.encrypted { " --tls" } else { "" };
    format!("{password}redis-cli{host} -p {}{tls} CL.THROTTLE user123 15 30 60", at.port())
}

/// Where the admin door is.
pub(crate) fn admin(door: &Seen<'_>) -> String {
    let token = door.secret.map(|path| format!(" (with the token in {})", path.display()));
    format!("{}://{}/{}", door.scheme(), door.nearby(), token.unwrap_or_default())
}

/// What these lines lack for an encrypted door.
pub(crate) const fn encrypted(asks_clients: bool) -> &'static str {
    if asks_clients {
        "For encrypted doors, add --cacert FILE with the authority of the certificate, and --cert FILE --key FILE with your own; \
         call them by a name of the certificate."
    } else {
        "For encrypted doors, add --cacert FILE with the authority of the certificate, unless this machine trusts it; call them by \
         a name of the certificate."
    }
}

/// A word for a shell.
fn word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%".contains(&byte);
    if text.bytes().all(is_plain) { text.to_owned() } else { quoted(text) }
}

/// It may hold a quote, which a shell wants outside of the quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(address: &str) -> Seen<'static> {
        Seen { address: address.parse().unwrap(), encrypted: false, secret: None }
    }

    fn protected(address: &str, secret: &'static str) -> Seen<'static> {
        Seen { encrypted: true, secret: Some(Path::new(secret)), ..seen(address) }
    }

    #[test]
    fn a_door_that_wants_a_token_is_told_that_of_its_file() {
        let line = curl(&protected("[::1]:8080", "/etc/it's"), "{}");
        let expected =
            r#"curl -i https://[::1]:8080/v1/check -H "Authorization: Bearer $(cat '/etc/it'\''s')" -H"#;
        assert!(line.starts_with(expected), "{line}");
    }

    #[test]
    fn a_client_for_redis_is_told_where_and_how() {
        for (door, before) in [
            (seen("127.0.0.1:6380"), "redis-cli -p 6380 CL."),
            (seen("0.0.0.0:6380"), "redis-cli -p 6380 CL."),
            (seen("[::]:6380"), "redis-cli -h ::1 -p 6380 CL."),
            (seen("192.0.2.7:6380"), "redis-cli -h 192.0.2.7 -p 6380 CL."),
            (
                protected("127.0.0.1:6380", "/run/password"),
                r#"REDISCLI_AUTH="$(cat /run/password)" redis-cli -p 6380 --tls CL."#,
            ),
        ] {
            let line = redis_cli(&door);
            assert!(line.starts_with(before), "{line}");
        }
    }

    #[test]
    fn the_admin_door_has_an_address_that_can_be_asked() {
        assert_eq!(admin(&seen("127.0.0.1:6070")), "http://127.0.0.1:6070/");
        assert_eq!(admin(&seen("0.0.0.0:6070")), "http://127.0.0.1:6070/");
        assert_eq!(admin(&seen("[::]:6070")), "http://[::1]:6070/");
        let door = protected("192.0.2.7:6070", "/run/token");
        assert_eq!(admin(&door), "https://192.0.2.7:6070/ (with the token in /run/token)");
    }
}
