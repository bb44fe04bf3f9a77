//! From text to an [`Address`]. Everything but the credentials is read from the text as it is shown in errors, with the password
//! masked, so that no error can show one.

use super::{Address, AddressError, Layout, Place};
use crate::client::secret::Secret;

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;
const SCHEMES: &str = "begin with redis://, redis-cluster:// or redis-sentinel://, or with rediss://, rediss-cluster:// or \
                       rediss-sentinel:// for encrypted connections";

pub(super) fn address(text: &str) -> Result<Address, AddressError> {
    let Some((scheme, rest)) = text.split_once("://") else {
        // Whatever this is, it may hold a password.
        let shown = text.split([':', '@', '/']).next().unwrap_or_default();
        let end = shown.len();
        return Err(error("an address begins with the kind of store", SCHEMES, (shown, 0, end)));
    };
    let (credentials, rest) = match rest.rsplit_once('@') {
        Some((credentials, rest)) => (Some(credentials), rest),
        None => (None, rest),
    };
    let shown = Shown::new(scheme, credentials, rest);
    let (kind, tls) = kind(&shown)?;
    let (user, password) = credentials.map_or(Ok((None, None)), |text| who(text, &shown))?;
    let places = places(&shown, if kind == Kind::Sentinel { SENTINEL_PORT } else { PORT })?;
    if kind == Kind::Single && places.len() > 1 {
        let help = "write redis-cluster:// or redis-sentinel:// before several servers";
        return Err(shown.error("redis:// names one server", help, shown.hosts()));
    }
    let (layout, database) = path(kind, &shown)?;
    Ok(Address { layout, places, user, password, database, tls })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Single,
    Sentinel,
    Cluster,
}

/// The address as errors show it, and where its parts stand in it.
struct Shown {
    text: String,
    scheme: usize,
    hosts: usize,
}

impl Shown {
    fn new(scheme: &str, credentials: Option<&str>, rest: &str) -> Self {
        let user = credentials.map(|text| match text.split_once(':') {
            Some((user, _)) => format!("{user}:***@"),
            None => format!("{text}@"),
        });
        let before = format!("{scheme}://{}", user.unwrap_or_default());
        Self { scheme: scheme.len(), hosts: before.len(), text: before + rest }
    }

    /// Where the hosts stand.
    fn hosts(&self) -> (usize, usize) {
        let length = self.text[self.hosts..].find(['/', '?', '#']).unwrap_or(self.text.len() - self.hosts);
        (self.hosts, self.hosts + length)
    }

    /// Where what follows the hosts stands.
    fn path(&self) -> (usize, usize) {
        (self.hosts().1, self.text.len())
    }

    fn error(&self, problem: &str, help: &str, (from, to): (usize, usize)) -> AddressError {
        error(problem, help, (&self.text, from, to))
    }
}

fn error(problem: &str, help: &str, (shown, from, to): (&str, usize, usize)) -> AddressError {
    AddressError { problem: problem.to_owned(), help: help.to_owned(), shown: shown.to_owned(), from, to }
}

fn kind(shown: &Shown) -> Result<(Kind, bool), AddressError> {
    match &shown.text[..shown.scheme] {
        "redis" => Ok((Kind::Single, false)),
        "rediss" => Ok((Kind::Single, true)),
        "redis-cluster" => Ok((Kind::Cluster, false)),
        "rediss-cluster" => Ok((Kind::Cluster, true)),
        "redis-sentinel" => Ok((Kind::Sentinel, false)),
        "rediss-sentinel" => Ok((Kind::Sentinel, true)),
        _ => Err(shown.error("no kind of store has this name", SCHEMES, (0, shown.scheme))),
    }
}

type Who = (Option<String>, Option<Secret>);

fn who(text: &str, shown: &Shown) -> Result<Who, AddressError> {
    let (user, password) =
        text.split_once(':').map_or((text, None), |(user, password)| (user, Some(password)));
    let wrong = || {
        let help = "write special characters as % and two hexadecimal digits, such as %40 for @";
        shown.error("the user or the password is not understood", help, (shown.scheme + 3, shown.hosts - 1))
    };
    let user = decoded(user).ok_or_else(wrong)?;
    let password = password.map(|password| decoded(password).ok_or_else(wrong)).transpose()?;
    Ok((
        Some(user).filter(|user| !user.is_empty()),
        password.filter(|text| !text.is_empty()).map(Secret::new),
    ))
}

/// The text with every `%41` made an `A`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        (bytes, rest) = if first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            (bytes, &after[2..])
        } else {
            bytes.push(first);
            (bytes, after)
        };
    }
    String::from_utf8(bytes).ok()
}

fn places(shown: &Shown, default_port: u16) -> Result<Vec<Place>, AddressError> {
    let (mut from, end) = shown.hosts();
    let mut places = Vec::new();
    for text in shown.text[from..end].split(',') {
        places.push(place(shown, (from, from + text.len()), default_port)?);
        from += text.len() + 1;
    }
    Ok(places)
}

fn place(shown: &Shown, (from, to): (usize, usize), default_port: u16) -> Result<Place, AddressError> {
    let text = &shown.text[from..to];
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let name = bare.unwrap_or(host);
    if name.is_empty() {
        return Err(shown.error("a host is missing", "write host:port, such as localhost:6379", (from, to)));
    }
    if bare.is_none() && host.contains([':', '[', ']', '%', ' ']) {
        let help = "write host:port, and an IPv6 address in brackets, such as [::1]:6379";
        return Err(shown.error("this is not a host", help, (from, from + host.len())));
    }
    let port = port.map_or(Ok(default_port), |port| match port.parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err(shown.error("this is not a port", "write a number from 1 to 65535", (to - port.len(), to))),
    })?;
    Ok(Place { host: name.to_owned(), port })
}

fn path(kind: Kind, shown: &Shown) -> Result<(Layout, u16), AddressError> {
    let (from, to) = shown.path();
    let text = &shown.text[from..to];
    if let Some(at) = text.find(['?', '#']) {
        let help = "settings have names of their own in the configuration; leave them out here";
        return Err(shown.error("an address has no settings in it", help, (from + at, to)));
    }
    let mut parts = text.strip_prefix('/').unwrap_or(text).split('/');
    let layout = layout(kind, parts.next().unwrap_or_default(), shown)?;
    let number = match (&layout, kind) {
        (_, Kind::Single) => text.strip_prefix('/').unwrap_or_default(),
        _ => parts.next().unwrap_or_default(),
    };
    let database = if number.is_empty() { Some(0) } else { number.parse().ok() };
    let wrong = || {
        let help = "write its number after the last slash, such as redis://localhost/2; leave it out for 0";
        shown.error("this is not a database", help, (to - number.len(), to))
    };
    Ok((layout, database.ok_or_else(wrong)?))
}

fn layout(kind: Kind, first: &str, shown: &Shown) -> Result<Layout, AddressError> {
    let path = shown.path();
    match kind {
        Kind::Single => Ok(Layout::Single),
        Kind::Cluster if first.is_empty() => Ok(Layout::Cluster),
        Kind::Cluster => {
            Err(shown.error("a Cluster has one database", "leave out what follows the hosts", path))
        }
        Kind::Sentinel if first.is_empty() => {
            let help = "write the name that sentinels know it by after a slash, such as redis-sentinel://host:26379/mymaster";
            Err(shown.error("the master's name is missing", help, path))
        }
        Kind::Sentinel => Ok(Layout::Sentinel { master: first.to_owned() }),
    }
}
