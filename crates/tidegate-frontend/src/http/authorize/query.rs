//! How a proxy asks: the query of the route's address, as its configuration has it.

use std::borrow::Cow;
use std::time::Duration;

use http::{HeaderName, StatusCode};
use tidegate_engine::check::{MAX_ATTRIBUTES, MAX_COST, MAX_NAME_BYTES, MAX_VALUE_BYTES};

use tidegate_store::Store;

use super::percent::decoded;
use crate::door::Door;
use crate::http::domain::sole_domain;
use tidegate_wire::json::FieldError;

/// What the address says.
pub(super) struct Query<'u> {
    pub(super) domain: Cow<'u, str>,
    /// The status of refusals, for proxies that cannot pass on any but this one.
    pub(super) deny_status: Option<StatusCode>,
    pub(super) cost: u64,
    /// How long the proxy waits. No header says so: a client could have sent it.
    pub(super) timeout: Option<Duration>,
    pub(super) from: Family,
    /// Headers that are attributes: their names, and those of the attributes.
    pub(super) headers: Vec<(HeaderName, Cow<'u, str>)>,
    /// Attributes that are the same for all requests.
    pub(super) attributes: Vec<(Cow<'u, str>, Cow<'u, str>)>,
}

/// The headers that the proxy writes. Others are never read: a client could have sent them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Family {
    /// `X-Forwarded-Method`, `-Uri`, `-Host` and `-Proto`, as Traefik and Caddy do.
    #[default]
    Forwarded,
    /// `X-Original-Method` and `X-Original-URI`, as is the custom with nginx.
    Original,
    /// `X-Original-Method` and `X-Original-URL`, as the ingress controller of nginx does.
    OriginalUrl,
}

/// The longest time that a proxy can say it waits, in milliseconds.
pub(in crate::http) const MOST_MS: u64 = 60_000;

const KNOWN: &str = "domain, deny_status, cost, timeout_ms, from, header.NAME, attribute.NAME";

impl<'u> Query<'u> {
    pub(super) fn read(query: &'u str) -> Result<Self, FieldError> {
        let mut read = Self {
            domain: "".into(),
            deny_status: None,
            cost: 1,
            timeout: None,
            from: Family::default(),
            headers: Vec::new(),
            attributes: Vec::new(),
        };
        // What is unknown ends it, and so do too many attributes: there are never many.
        let mut said = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name);
            read.take(&name, decoded(value))?;
            if said.contains(&name) {
                return Err(wrong("the address says something twice; say it once"));
            }
            // One header may be several attributes.
            said.extend(Some(name).filter(|name| !name.starts_with("header.")));
        }
        Ok(read)
    }

    /// Takes the only domain of the rules if the address names none.
    pub(super) fn in_domain_of<S: Store>(mut self, door: &Door<S>) -> Result<Self, FieldError> {
        if self.domain.is_empty() {
            self.domain = sole_domain(door, "the address")?.into();
        }
        Ok(self)
    }

    fn take(&mut self, name: &str, value: Cow<'u, str>) -> Result<(), FieldError> {
        match name {
            "domain" => {
                if value.is_empty() {
                    return Err(wrong("the address has no `domain`; write /v1/authorize?domain=api"));
                }
                short("a domain", &value, MAX_NAME_BYTES)?;
                self.domain = value;
            }
            "deny_status" => self.deny_status = Some(deny_status(&value)?),
            "cost" => self.cost = cost(&value)?,
            "timeout_ms" => self.timeout = Some(Duration::from_millis(timeout_ms(&value)?)),
            "from" => self.from = Family::read(&value)?,
            _ => return self.take_named(name, value),
        }
        Ok(())
    }

    fn take_named(&mut self, name: &str, value: Cow<'u, str>) -> Result<(), FieldError> {
        if self.headers.len() + self.attributes.len() == MAX_ATTRIBUTES {
            return Err(wrong(&format!("the address names more than {MAX_ATTRIBUTES} attributes")));
        }
        if let Some(header) = name.strip_prefix("header.") {
            let header = HeaderName::try_from(header).ok().filter(|_| !value.is_empty());
            short("an attribute", &value, MAX_NAME_BYTES)?;
            let header = header
                .ok_or_else(|| wrong("write a header and its attribute, such as header.x-api-key=api_key"))?;
            self.headers.push((header, value));
        } else if let Some(attribute) = name.strip_prefix("attribute.").filter(|name| !name.is_empty()) {
            short("an attribute", attribute, MAX_NAME_BYTES)?;
            short("a value", &value, MAX_VALUE_BYTES)?;
            self.attributes.push((attribute.to_owned().into(), value));
        } else {
            return Err(wrong(&format!("the address says something unknown; it may say {KNOWN}")));
        }
        Ok(())
    }
}

impl Family {
    fn read(text: &str) -> Result<Self, FieldError> {
        match text {
            "forwarded" => Ok(Self::Forwarded),
            "original" => Ok(Self::Original),
            "original_url" => Ok(Self::OriginalUrl),
            _ => Err(wrong("`from` should be forwarded, original or original_url")),
        }
    }
}

fn deny_status(text: &str) -> Result<StatusCode, FieldError> {
    let status = text.parse().ok().filter(|status| (400..600).contains(status));
    status
        .and_then(|status| StatusCode::from_u16(status).ok())
        .ok_or_else(|| wrong("`deny_status` should be a status from 400 to 599"))
}

fn timeout_ms(text: &str) -> Result<u64, FieldError> {
    let ms = number("timeout_ms", text)?;
    if (1..=MOST_MS).contains(&ms) {
        Ok(ms)
    } else {
        Err(wrong(&format!("`timeout_ms` should be from 1 to {MOST_MS}")))
    }
}

/// What the address fixes is refused as a mistake in it, whatever the status of refusals is.
fn short(what: &str, text: &str, most: usize) -> Result<(), FieldError> {
    if text.len() > most {
        return Err(wrong(&format!("the address has {what} of more than {most} bytes")));
    }
    Ok(())
}

fn cost(text: &str) -> Result<u64, FieldError> {
    let cost = number("cost", text)?;
    if cost > MAX_COST {
        return Err(wrong(&format!("`cost` should be at most {MAX_COST}")));
    }
    Ok(cost)
}

fn number(name: &str, text: &str) -> Result<u64, FieldError> {
    text.parse().map_err(|_| wrong(&format!("`{name}` should be a whole number from 0 on")))
}

fn wrong(text: &str) -> FieldError {
    FieldError::new(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_address_cannot_mean_is_said() {
        let long = "x".repeat(257);
        let value = format!("domain=api&attribute.a={}", "x".repeat(MAX_VALUE_BYTES + 1));
        let many: Vec<String> = (0..129).map(|number| format!("attribute.a{number}=1")).collect();
        for (query, says) in [
            (format!("domain={long}"), "a domain of more than 256 bytes"),
            (format!("domain=api&attribute.{long}=1"), "an attribute of more than 256 bytes"),
            (format!("domain=api&header.x={long}"), "an attribute of more than 256 bytes"),
            (value, "a value of more than 16384 bytes"),
            (format!("domain=api&{}", many.join("&")), "names more than 128 attributes"),
            ("domain=api&cost=1000000000001".to_owned(), "`cost` should be at most"),
            ("domain=api&domain=other".to_owned(), "something twice"),
            ("domain=api&attribute.a=1&cost=2&attribute.%61=2".to_owned(), "something twice"),
        ] {
            let wrong = Query::read(&query).err().unwrap().to_string();
            assert!(wrong.contains(says), "{wrong}");
        }
        assert!(Query::read("domain=api&header.x-key=api_key&header.x-key=user").is_ok());
    }
}
