//! Who may ask the admin door: whoever knows its token; whoever has shown a certificate; or, if neither is asked for, this machine.
//! But no web page of another site, whose requests a browser would otherwise carry here.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use tidegate_net::secret::BearerToken;

use crate::callers;
use crate::http::problem;

/// Lets pass what knows the token. Whether the server is alive is told to everybody.
pub(super) async fn only_with(token: BearerToken, request: Request, next: Next) -> Response {
    match request.uri().path() {
        "/healthz" | "/readyz" => next.run(request).await,
        _ => callers::only_with(token, request, next).await,
    }
}

/// Lets pass whoever is here, which only those are who have shown a certificate; but changes nothing for pages from elsewhere,
/// to which a browser lends its certificate. Under another name nobody gets here: the certificate of the door is not good for it.
pub(super) async fn only_own_pages(request: Request, next: Next) -> Response {
    let host = host(&request).unwrap_or_default();
    only_from(&host, request, next).await
}

/// Lets pass what names this door as `localhost` or by an address, and changes nothing for pages from elsewhere.
pub(super) async fn only_this_machine(request: Request, next: Next) -> Response {
    let Some(host) = host(&request).filter(|host| is_local(host)) else {
        let detail = "the admin door is called localhost, or by its address";
        return problem(StatusCode::MISDIRECTED_REQUEST, detail);
    };
    only_from(&host, request, next).await
}

/// Lets pass what changes nothing, and what does not come from a page of another host.
async fn only_from(host: &str, request: Request, next: Next) -> Response {
    let changes = request.method() != Method::GET && request.method() != Method::HEAD;
    if changes && !is_same_origin(request.headers(), host) {
        return problem(StatusCode::FORBIDDEN, "the request comes from a page of another site");
    }
    next.run(request).await
}

/// What the request calls this door.
fn host(request: &Request) -> Option<String> {
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    authority.or_else(|| text(request.headers(), HOST.as_str()))
}

/// A name could be anybody's and point here; an address cannot.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

fn is_same_origin(headers: &HeaderMap, host: &str) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    origin.is_some_and(|(scheme, origin)| matches!(scheme, "http" | "https") && origin == host)
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_localhost_are_local_and_other_names_are_not() {
        for host in ["localhost", "LOCALHOST:6070", "127.0.0.1:6070", "[::1]:6070", "[::1]", "10.0.0.1"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["evil.example", "evil.example:6070", "localhost.evil.example", ""] {
            assert!(!is_local(host), "{host}");
        }
    }

    #[test]
    fn only_our_own_pages_may_change_anything() {
        let from = |origin: &str| HeaderMap::from_iter([(ORIGIN, origin.parse().unwrap())]);
        assert!(is_same_origin(&HeaderMap::new(), "localhost:6070"));
        assert!(is_same_origin(&from("http://localhost:6070"), "localhost:6070"));
        assert!(is_same_origin(&from("https://limits.example:6070"), "limits.example:6070"));
        assert!(!is_same_origin(&from("ftp://localhost:6070"), "localhost:6070"));
        assert!(!is_same_origin(&from("https://"), "limits.example"));
        assert!(!is_same_origin(&from("http://evil.example"), "localhost:6070"));
        assert!(!is_same_origin(&from("null"), "localhost:6070"));
    }
}
