//! Who asks: whose word counts for which attribute at each door, and who may ask the HTTP API at all.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use tidegate_wire::trust::{FORWARDED, Proof, Trust};
use tokio::time::sleep;

use crate::config;
use crate::error::Error;
use crate::http::problem;
use crate::secret::Token;

/// Where a token stands if `Authorization` is the client's own.
const X_TIDEGATE_TOKEN: HeaderName = HeaderName::from_static("x-tidegate-token");

/// How often it is looked whether somebody asks in vain.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// Whom the doors believe.
#[derive(Clone, Debug)]
pub(crate) struct Callers {
    from: config::Trust,
    proof: Proven,
    forwarded: Trust,
}

/// What makes a caller trusted besides its network.
#[derive(Clone, Debug)]
struct Proven(Option<Token>);

impl Callers {
    /// Reads the token, if there is one.
    pub(crate) fn read(from: &config::Trust) -> Result<Self, Error> {
        let proof = Proven(from.token_file.as_deref().map(Token::read).transpose()?);
        let forwarded = Trust::only_forwarded(from.peers.clone(), proof.proof(), &from.attributes);
        Ok(Self { from: from.clone(), proof, forwarded })
    }

    /// Whose word counts at a door: everybody's, unless the settings name it.
    pub(crate) fn at(&self, door: &str) -> Trust {
        if self.guards(door) {
            Trust::only(self.from.peers.clone(), self.proof.proof(), &self.from.attributes)
        } else {
            Trust::everybody()
        }
    }

    /// Whether somebody's word does not count at that door.
    pub(crate) fn guards(&self, door: &str) -> bool {
        self.from.doors.contains(&door)
    }

    /// Whose word counts at forward-auth.
    pub(crate) fn forwarded(&self) -> Trust {
        self.forwarded.clone()
    }
}

impl Proven {
    fn proof(&self) -> Option<Proof> {
        let token = self.0.clone()?;
        Some(Arc::new(move |headers| knows(&token, headers)))
    }
}

/// Lets pass what knows the token of a door.
pub(crate) async fn only_with(token: Token, request: Request, next: Next) -> Response {
    if knows(&token, request.headers()) {
        return next.run(request).await;
    }
    let detail = "this door wants its token: Authorization: Bearer … or X-Tidegate-Token: …";
    let mut answer = problem(StatusCode::UNAUTHORIZED, detail);
    answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer
}

fn knows(token: &Token, headers: &HeaderMap) -> bool {
    let says = |name: HeaderName| headers.get(name).map(HeaderValue::as_bytes);
    says(X_TIDEGATE_TOKEN).is_some_and(|word| token.is(word))
        || says(AUTHORIZATION).is_some_and(|told| token.is_in(told))
}

/// Says once, in the log, that a proxy asks whose word does not count: without it, all of its clients look like one.
pub(crate) async fn warn_of_strangers(trust: Trust) {
    let is_forwarded = |(attribute, count): (&str, u64)| FORWARDED.contains(&attribute) && count > 0;
    while !trust.ignored().any(is_forwarded) {
        sleep(BETWEEN_LOOKS).await;
    }
    let (door, hint) = ("authorize", "name its network in trust.peers");
    tracing::warn!(door, hint, "forwarding headers of a peer that is not trusted are ignored");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        (folder, path)
    }

    fn told(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))])
    }

    #[test]
    fn a_token_is_told_in_either_header() {
        let (_folder, path) = token();
        let token = Token::read(&path).unwrap();
        assert!(knows(&token, &told("authorization", "Bearer 0123456789abcdef")));
        assert!(knows(&token, &told("x-tidegate-token", "0123456789abcdef")));
        assert!(!knows(&token, &told("x-tidegate-token", "Bearer 0123456789abcdef")));
        assert!(!knows(&token, &told("authorization", "0123456789abcdef")));
        assert!(!knows(&token, &HeaderMap::new()));
    }

    #[test]
    fn doors_believe_everybody_unless_they_are_named() {
        let (_folder, path) = token();
        let from = config::Trust { token_file: Some(path), doors: vec!["grpc"], ..config::Trust::default() };
        let callers = Callers::read(&from).unwrap();
        let nobody = axum::http::Extensions::new();
        let trusts = |trust: Trust, headers: &HeaderMap| trust.caller(&nobody, headers).trusted;
        assert!(trusts(callers.at("http"), &HeaderMap::new()));
        assert!(callers.guards("grpc") && !callers.guards("http"));
        for trust in [callers.at("grpc"), callers.forwarded()] {
            assert!(!trusts(trust.clone(), &HeaderMap::new()));
            assert!(trusts(trust, &told("x-tidegate-token", "0123456789abcdef")));
        }
        assert!(!format!("{callers:?} {:?}", callers.forwarded()).contains("0123456789abcdef"));
    }
}
