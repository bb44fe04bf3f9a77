//! Who asks: whose word counts for which attribute at each door, and who may ask the HTTP API at all.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use tidegate_net::http::CallerRefused;
use tidegate_net::secret::{BearerToken, FollowedSecret, SecretFile};
use tidegate_wire::trust::{Grant, Proof, Trust, X_TIDEGATE_TOKEN};

use crate::config::{self, Config, TrustedPeer};
use crate::error::Error;
use crate::http::problem;

/// Whom the doors believe.
#[derive(Clone, Debug)]
pub(crate) struct Callers {
    from: config::Trust,
    /// What each peer of the settings must show and may state.
    grants: Vec<Grant>,
    forwarded: Trust,
}

impl Callers {
    /// Reads the tokens; they are followed from now on.
    pub(crate) fn read(config: &Config, followed: &mut Vec<FollowedSecret>) -> Result<Self, Error> {
        let mut from = config.trust.clone();
        let mut named: Vec<_> = vec!["trust.peers"; from.peers.len()];
        if let Some(path) = from.token_file.take() {
            from.peers.push(TrustedPeer { token_file: Some(path), ..TrustedPeer::default() });
            named.push("trust.token_file");
        }
        let grants = from.peers.iter().zip(named).map(|(peer, setting)| grant(peer, setting, followed));
        let grants = Error::every(grants)?;
        let forwarded = Trust::only_forwarded(granted(&from, &grants, "authorize"), &from.attributes);
        Ok(Self { from, grants, forwarded })
    }

    /// Whose word counts at a door: everybody's, unless the settings name it.
    pub(crate) fn at(&self, door: &str) -> Trust {
        if self.guards(door) {
            Trust::only(granted(&self.from, &self.grants, door), &self.from.attributes)
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

/// What is granted at a door.
fn granted(from: &config::Trust, grants: &[Grant], door: &str) -> Vec<Grant> {
    let is_here = |peer: &TrustedPeer| peer.doors.as_ref().is_none_or(|doors| doors.contains(&door));
    let here = from.peers.iter().zip(grants).filter(|(peer, _)| is_here(peer));
    here.map(|(_, grant)| grant.clone()).collect()
}

fn grant(
    peer: &TrustedPeer,
    setting: &'static str,
    followed: &mut Vec<FollowedSecret>,
) -> Result<Grant, Error> {
    let file = peer.token_file.as_deref().map(|path| SecretFile { setting, path });
    let token = file.map(|file| BearerToken::read_followed(file, followed)).transpose()?;
    let proof = |token: BearerToken| -> Proof { Arc::new(move |word| token.matches(word)) };
    Ok(Grant {
        networks: peer.networks.clone(),
        token: token.map(proof),
        certificate: peer.certificate.clone(),
        attributes: peer.attributes.clone(),
    })
}

/// Lets pass what knows the token of a door.
pub(crate) async fn only_with(token: BearerToken, request: Request, next: Next) -> Response {
    if knows(&token, request.headers()) {
        return next.run(request).await;
    }
    let detail = "this door wants its token: Authorization: Bearer … or X-Tidegate-Token: …";
    let mut answer = problem(StatusCode::UNAUTHORIZED, detail);
    answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer.extensions_mut().insert(CallerRefused);
    answer
}

fn knows(token: &BearerToken, headers: &HeaderMap) -> bool {
    let says = |name: HeaderName| headers.get(name).map(HeaderValue::as_bytes);
    says(X_TIDEGATE_TOKEN).is_some_and(|word| token.matches(word))
        || says(AUTHORIZATION).is_some_and(|told| token.matches_authorization(told))
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
        let token = BearerToken::read(SecretFile { setting: "http.token_file", path: &path }).unwrap();
        assert!(knows(&token, &told("authorization", "Bearer 0123456789abcdef")));
        assert!(knows(&token, &told("x-tidegate-token", "0123456789abcdef")));
        assert!(!knows(&token, &told("x-tidegate-token", "Bearer 0123456789abcdef")));
        assert!(!knows(&token, &told("authorization", "0123456789abcdef")));
        assert!(!knows(&token, &HeaderMap::new()));
    }

    #[test]
    fn doors_believe_everybody_unless_they_are_named() {
        let (_folder, path) = token();
        let trust = config::Trust { token_file: Some(path), doors: vec!["grpc"], ..config::Trust::default() };
        let (config, mut followed) = (Config { trust, ..Config::default() }, Vec::new());
        let callers = Callers::read(&config, &mut followed).unwrap();
        assert_eq!(followed.len(), 1);
        let trusts = |trust: Trust, headers: &HeaderMap| trust.caller(None, headers).is_trusted();
        assert!(trusts(callers.at("http"), &HeaderMap::new()));
        assert!(callers.guards("grpc") && !callers.guards("http"));
        for trust in [callers.at("grpc"), callers.forwarded()] {
            assert!(!trusts(trust.clone(), &HeaderMap::new()));
            assert!(trusts(trust, &told("x-tidegate-token", "0123456789abcdef")));
        }
        assert!(!format!("{callers:?} {:?}", callers.forwarded()).contains("0123456789abcdef"));
    }
}
