//! What is known of the request that a proxy asks about: from the connection, from headers and from the route's address.

use std::borrow::Cow;
use std::net::IpAddr;

use http::header::{COOKIE, HOST};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate_store::Store;

use super::path;
use super::query::{Family, Query};
use crate::door::Door;
use tidegate_wire::json::FieldError;
use tidegate_wire::trust::{Caller, Trust};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_METHOD: HeaderName = HeaderName::from_static("x-forwarded-method");
const X_FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_ORIGINAL_METHOD: HeaderName = HeaderName::from_static("x-original-method");
const X_ORIGINAL_URI: HeaderName = HeaderName::from_static("x-original-uri");
const X_ORIGINAL_URL: HeaderName = HeaderName::from_static("x-original-url");

/// Attributes with their values. The first word on an attribute counts.
pub(super) struct Facts<'r> {
    known: Vec<(Cow<'r, str>, Cow<'r, str>)>,
    trust: &'r Trust,
    caller: Caller,
}

impl<'r> Facts<'r> {
    pub(super) fn of<S: Store>(
        door: &'r Door<S>,
        query: &'r Query<'r>,
        request: &'r Parts,
    ) -> Result<Self, FieldError> {
        let (trust, headers) = (&door.settings().forward_trust, &request.headers);
        let caller = trust.caller(request.extensions.get(), headers);
        let mut facts = Self { known: Vec::new(), trust, caller };
        // What the address says goes before what proxies say by custom.
        for (header, attribute) in &query.headers {
            if let Some(value) = one(headers, header.as_str())? {
                facts.claim(attribute, Some(mapped(attribute, value)?));
            }
        }
        for (attribute, value) in &query.attributes {
            facts.claim(attribute, Some(mapped(attribute, Cow::Borrowed(value))?));
        }
        facts.add_client(headers);
        facts.add_target(query.from, request)?;
        facts.add_what_rules_ask_of(headers, door, &query.domain)?;
        Ok(facts)
    }

    /// The same as the engine takes them.
    pub(super) fn pairs(&self) -> Vec<(&str, &str)> {
        self.known.iter().map(|(name, value)| (&**name, &**value)).collect()
    }

    fn add_client(&mut self, headers: &HeaderMap) {
        if headers.contains_key(X_FORWARDED_FOR) {
            // Who is not trusted is the client itself, whatever it says; that it does is counted.
            self.trust.ignores(self.caller, "ip");
        }
        if let Some(client) = self.trust.client(self.caller, headers) {
            self.add("ip", client.to_string());
        }
    }

    fn add_target(&mut self, from: Family, request: &'r Parts) -> Result<(), FieldError> {
        let headers = &request.headers;
        let (method, target) = match from {
            Family::Forwarded => (X_FORWARDED_METHOD, X_FORWARDED_URI),
            Family::Original => (X_ORIGINAL_METHOD, X_ORIGINAL_URI),
            Family::OriginalUrl => (X_ORIGINAL_METHOD, X_ORIGINAL_URL),
        };
        self.claim("method", one(headers, method.as_str())?);
        self.add("method", request.method.as_str());
        if let Some(target) = one(headers, target.as_str())? {
            self.claim_target(&target);
        }
        match from {
            Family::Forwarded => {
                self.claim("scheme", one(headers, X_FORWARDED_PROTO.as_str())?.map(last));
                self.claim(
                    "host",
                    one(headers, X_FORWARDED_HOST.as_str())?.map(|hosts| host(&last(hosts)).into()),
                );
            }
            // Whoever writes no host of its own passes on the client's.
            Family::Original => {
                let named = request.uri.authority().map(|authority| Cow::from(authority.as_str()));
                self.claim("host", one(headers, HOST.as_str())?.or(named).map(|own| host(&own).into()));
            }
            Family::OriginalUrl => {}
        }
        Ok(())
    }

    /// `/path?query`, or the whole of an address.
    fn claim_target(&mut self, target: &str) {
        let target = match target.split_once("://") {
            Some((scheme, rest)) if !scheme.contains(['/', '?']) => {
                let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
                self.claim("scheme", Some(scheme.to_ascii_lowercase().into()));
                self.claim("host", Some(host(authority).into()));
                path
            }
            _ => target,
        };
        self.claim("path", Some(path_of(target).into()));
    }

    /// Headers that rules speak of by their own names. Others are left out: a client could send any number.
    fn add_what_rules_ask_of<S: Store>(
        &mut self,
        headers: &'r HeaderMap,
        door: &Door<S>,
        domain: &str,
    ) -> Result<(), FieldError> {
        let snapshot = door.engine().snapshot();
        let names = snapshot.domain(domain).into_iter().flat_map(|domain| domain.names.iter());
        for (name, _) in names {
            let value = match name.strip_prefix("header.") {
                Some("cookie") => cookies(headers),
                Some(header) => one(headers, header)?,
                None => None,
            };
            self.claim(name, value);
        }
        Ok(())
    }

    /// A fact that the caller states: it may not count.
    fn claim(&mut self, attribute: &str, value: Option<Cow<'r, str>>) {
        if let Some(value) = value
            && !self.trust.ignores(self.caller, attribute)
        {
            self.add(attribute.to_owned(), value);
        }
    }

    fn add(&mut self, attribute: impl Into<Cow<'r, str>>, value: impl Into<Cow<'r, str>>) {
        self.known.push((attribute.into(), value.into()));
    }
}

/// A value that the address maps, in the form that the attribute has however it comes.
fn mapped<'v>(attribute: &str, value: Cow<'v, str>) -> Result<Cow<'v, str>, FieldError> {
    match attribute {
        "ip" => match value.trim().parse::<IpAddr>() {
            Ok(address) => Ok(address.to_canonical().to_string().into()),
            Err(_) => Err(FieldError::new(
                "what the address maps to `ip` is not the address of a client".to_owned(),
            )),
        },
        "path" => Ok(path_of(&value).into()),
        "host" => Ok(host(&value).into()),
        _ => Ok(value),
    }
}

/// A path in its one form.
fn path_of(target: &str) -> String {
    let slash = if target.starts_with('/') { "" } else { "/" };
    path::normal(&format!("{slash}{target}")).into_owned()
}

/// The value of a header that says one thing. Who sends two of a kind may mean one for us and one for the API.
fn one<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<Cow<'h, str>>, FieldError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.any(|other| other != value) {
        return Err(FieldError::new(format!(
            "the header `{name}` is there more than once and says different things"
        )));
    }
    Ok(Some(String::from_utf8_lossy(value.as_bytes())))
}

/// Over HTTP/2 they come apart, and mean the same (RFC 9113, 8.2.3).
fn cookies(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let parts: Vec<_> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    match parts[..] {
        [] => None,
        [whole] => Some(String::from_utf8_lossy(whole)),
        _ => Some(String::from_utf8_lossy(&parts.join(&b"; "[..])).into_owned().into()),
    }
}

/// What the nearest of several proxies wrote.
fn last(list: Cow<'_, str>) -> Cow<'_, str> {
    match list.rsplit_once(',') {
        Some((_, last)) => last.trim().to_owned().into(),
        None => list,
    }
}

/// The name of a host in its one form: without a port, in small letters.
fn host(authority: &str) -> String {
    let name = match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    };
    name.trim_end_matches('.').to_ascii_lowercase()
}
