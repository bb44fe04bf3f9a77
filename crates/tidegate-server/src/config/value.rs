//! Values of settings as they are written: each takes a text and gives what it means, or says what to write.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tidegate_core::{Limit, Rate};
use tidegate_engine::check::MAX_NAME_BYTES;
use tidegate_redis::client::AddressError;
use tidegate_rules::apart::Tier;
use tidegate_rules::diagnostic::nearest;
use tidegate_rules::notation::{Per, Short};
use tidegate_rules::{Span, notation};

use tidegate_frontend::door::Undecided;
use tidegate_wire::Trusted;

use super::{ClientCertificates, LogFormat, OwnStore, Place, RuntimeChoice, StoreKind, Whose};

/// The most threads that serve connections.
const MOST_CORES: usize = 1024;

/// The most attributes that can be guarded: each has a line among the metrics of each door.
const MOST_NAMES: usize = 32;

/// What is wrong with a value, and what to write.
pub(super) type Wrong = String;

/// An address, or `off`.
pub(super) fn address(text: &str) -> Result<Option<SocketAddr>, Wrong> {
    if text == "off" {
        return Ok(None);
    }
    let wrong =
        || format!("`{text}` is no address; write an IP address and a port, such as 127.0.0.1:8080, or off");
    text.parse().map(Some).map_err(|_| wrong())
}

/// A path.
pub(super) fn path(text: &str) -> Result<Option<PathBuf>, Wrong> {
    if text.is_empty() { Err("the path is empty; leave it out".to_owned()) } else { Ok(Some(text.into())) }
}

/// Where counters are kept.
pub(super) fn place(text: &str) -> Result<Place, Wrong> {
    match text {
        "" => Err("the path is empty; write one, or auto, or off".to_owned()),
        "auto" => Ok(Place::Auto),
        "off" => Ok(Place::Off),
        path => Ok(Place::At(path.into())),
    }
}

/// Where counters live.
pub(super) fn store(text: &str) -> Result<StoreKind, Wrong> {
    if text == "memory" {
        return Ok(StoreKind::Memory);
    }
    // What follows the scheme may hold a password: the message shows none.
    match text.split_once("://") {
        Some(_) => text.parse().map(StoreKind::Redis).map_err(|error: AddressError| error.in_short()),
        None => {
            Err("there is no such store; write memory, or an address such as redis://localhost:6379"
                .to_owned())
        }
    }
}

/// A tenant with servers of its own.
pub(super) fn own_store(whose: &str, address: &str) -> Result<OwnStore, Wrong> {
    let whose = self::whose(whose)?;
    match store(address)? {
        StoreKind::Redis(address) => Ok(OwnStore { whose, address }),
        StoreKind::Memory => {
            Err("a tenant's own store is in Redis; write an address such as redis://localhost:6379"
                .to_owned())
        }
    }
}

fn whose(text: &str) -> Result<Whose, Wrong> {
    match text.split_once('/') {
        Some((domain, _)) if domain.contains('*') => {
            Err("write the domain out; `store` is for all that are not named".to_owned())
        }
        Some((domain, "*")) if !domain.is_empty() => Ok(Whose::Domain(domain.to_owned())),
        Some((domain, tier)) if !domain.is_empty() && tier.starts_with("*?") => {
            let tier = tier[2..].split_once('=').filter(|(attribute, value)| !attribute.is_empty() && !value.is_empty());
            let (attribute, value) =
                tier.ok_or("write the attribute and the tier behind `?`, such as api/*?plan=enterprise")?;
            let [domain, attribute, value] = [domain, attribute, value].map(str::to_owned);
            Ok(Whose::Tier(Tier { domain, attribute, value }))
        }
        Some((_, tenant)) if tenant.contains('*') => {
            Err("only a `*` alone stands for all tenants; write each tenant out".to_owned())
        }
        Some((domain, tenant)) if !domain.is_empty() && !tenant.is_empty() => {
            Ok(Whose::Tenant { domain: domain.to_owned(), tenant: tenant.to_owned() })
        }
        _ => Err("write the domain and the tenant, such as api/acme: redis://localhost:6379, api/* for all of the \
                  domain, or api/*?plan=enterprise for a tier"
            .to_owned()),
    }
}

/// What keys begin with: a few characters that are not taken for others.
pub(super) fn prefix(text: &str) -> Result<String, Wrong> {
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"{}*?[]\\".contains(&byte);
    if text.is_empty() || text.len() > 32 || !text.bytes().all(fits) {
        return Err(format!(
            "`{text}` is no prefix; write 1 to 32 visible characters other than {{}}*?[]\\, such as prod:"
        ));
    }
    Ok(text.to_owned())
}

/// A name.
pub(super) fn name(text: &str) -> Result<Option<String>, Wrong> {
    if text.is_empty() {
        Err("the name is empty; leave it out".to_owned())
    } else {
        Ok(Some(text.to_owned()))
    }
}

/// A number in a range.
pub(super) fn number<T>(text: &str, least: T, most: T) -> Result<T, Wrong>
where
    T: Copy + FromStr + PartialOrd + std::fmt::Display,
{
    let wrong = || format!("`{text}` is not a whole number from {least} to {most}");
    let number: T = text.parse().map_err(|_| wrong())?;
    if number < least || number > most { Err(wrong()) } else { Ok(number) }
}

/// `true` or `false`.
pub(super) fn truth(text: &str) -> Result<bool, Wrong> {
    text.parse().map_err(|_| format!("`{text}` is neither true nor false"))
}

/// A length of time, such as `10s` or `500ms`; `0` is one too.
pub(super) fn duration(text: &str, least: Duration, most: Duration) -> Result<Duration, Wrong> {
    let length = if text == "0" || text == "0s" {
        Duration::ZERO
    } else {
        notation::duration(text, Span::new(0, text.len()))
            .map_err(|_| format!("`{text}` is no length of time; write one such as 10s or 500ms"))?
    };
    if length < least || length > most {
        return Err(format!("`{text}` should be from {} to {}", length_of(least), length_of(most)));
    }
    Ok(length)
}

/// A length with its number: in a rate, `s` alone is one second.
fn length_of(length: Duration) -> String {
    let shown = notation::show(length);
    match shown.as_bytes().first() {
        _ if length.is_zero() => "0".to_owned(),
        Some(b'0'..=b'9') => shown,
        _ => format!("1{shown}"),
    }
}

/// A number of bytes, such as `256MiB`.
pub(super) fn bytes(text: &str, least: usize, most: usize) -> Result<usize, Wrong> {
    let wrong = || format!("`{text}` is no size; write bytes, or a number with KiB, MiB or GiB");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let shift = match text[digits..].trim() {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return Err(wrong()),
    };
    let count: usize = text[..digits].parse().map_err(|_| wrong())?;
    let bytes = count.checked_mul(1 << shift).ok_or_else(wrong)?;
    if bytes < least || bytes > most {
        return Err(format!("`{text}` should be from {least} to {most} bytes"));
    }
    Ok(bytes)
}

/// A rate, such as `50000/s` or `500/s burst 2000`, as a bucket that holds a burst, or what comes in the time that it names;
/// or `off`.
pub(super) fn rate(text: &str) -> Result<Option<Limit>, Wrong> {
    if text == "off" {
        return Ok(None);
    }
    let wrong = || format!("`{text}` is no rate; write one such as 50000/s or 500/s burst 2000, or off");
    let short = notation::parse(text, Span::new(0, text.len())).map_err(|_| wrong())?;
    let Short::Rate { amount, per: Per::Span(per), burst } = short else { return Err(wrong()) };
    let rate = Rate::new(amount, per).map_err(|error| format!("`{text}`: {error}"))?;
    let limit = Limit::gcra(rate, burst.unwrap_or(amount));
    limit.map(Some).map_err(|error| format!("`{text}`: {error}"))
}

/// The levels of the log.
pub(super) const LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];

/// A level of the log.
pub(super) fn level(text: &str) -> Result<tracing::Level, Wrong> {
    word(text, LEVELS)?.parse().map_err(|_| format!("`{text}` is no level"))
}

/// The form of a line in the log.
pub(super) fn format(text: &str) -> Result<LogFormat, Wrong> {
    Ok(if word(text, &["text", "json"])? == "json" { LogFormat::Json } else { LogFormat::Text })
}

/// What connections are served on.
pub(super) fn runtime(text: &str) -> Result<RuntimeChoice, Wrong> {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return number(text, 1, MOST_CORES).map(RuntimeChoice::Cores);
    }
    Ok(if word(text, &["per_core", "shared"])? == "shared" {
        RuntimeChoice::Shared
    } else {
        RuntimeChoice::PerCore
    })
}

/// Whether clients must show a certificate.
pub(super) fn clients(text: &str) -> Result<ClientCertificates, Wrong> {
    Ok(match word(text, &["must", "may"])? {
        "may" => ClientCertificates::Optional,
        _ => ClientCertificates::Required,
    })
}

/// Names of doors, with commas between.
pub(super) fn doors(text: &str, known: &[&'static str]) -> Result<Vec<&'static str>, Wrong> {
    each(text, |name| word(name.trim(), known))
}

/// Networks and addresses, with commas between.
pub(super) fn networks(text: &str) -> Result<Trusted, Wrong> {
    each(text, |one| Trusted::parse([one]).map_err(|error| error.to_string()))?;
    Trusted::parse(text.split(',')).map_err(|error| error.to_string())
}

/// What stands between commas, one by one; all that is wrong with it.
fn each<T>(text: &str, read: impl Fn(&str) -> Result<T, Wrong>) -> Result<Vec<T>, Wrong> {
    let (mut good, mut wrong) = (Vec::new(), Vec::new());
    for one in text.split(',').map(read) {
        match one {
            Ok(one) => good.push(one),
            Err(message) => wrong.push(message),
        }
    }
    if wrong.is_empty() { Ok(good) } else { Err(wrong.join("; ")) }
}

/// Names of attributes, with commas between.
pub(super) fn names(text: &str) -> Result<Vec<String>, Wrong> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    if names.len() > MOST_NAMES || names.iter().any(|name| name.is_empty() || name.len() > MAX_NAME_BYTES) {
        return Err(format!(
            "`{text}` should be 1 to {MOST_NAMES} names with commas between, such as ip,org,plan"
        ));
    }
    Ok(names)
}

/// What Envoy is answered if nobody could decide.
pub(super) fn undecided(text: &str) -> Result<Undecided, Wrong> {
    let over_limit = word(text, &["unavailable", "over_limit"])? == "over_limit";
    Ok(if over_limit { Undecided::OverLimit } else { Undecided::Unavailable })
}

/// One of a few words, and the nearest of them if it is none.
pub(super) fn word<'w>(text: &str, words: &[&'w str]) -> Result<&'w str, Wrong> {
    words.iter().find(|word| **word == text).copied().ok_or_else(|| {
        let meant = nearest(text, words.iter().copied());
        let meant = meant.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
        format!("`{text}` is not one of {}{meant}", words.join(", "))
    })
}
