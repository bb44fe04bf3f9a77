//! One request: within its time, and whatever breaks on the way breaks nothing else.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Method, Response};
use axum::routing::future::RouteFuture;
use hyper::body::Incoming;
use tidegate_wire::trust::Peer;
use tidegate_wire::{http, rls};
use tokio::time::Instant;
use tower_service::Service as _;

use super::reply::Reply;
use crate::guarded::{Failed, guarded};
use crate::listener::Door;
use crate::stack::Stack;

/// What goes on in a connection.
#[derive(Debug)]
pub(super) struct Activity(Mutex<Recent>);

#[derive(Debug)]
struct Recent {
    under_way: usize,
    last: Instant,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Recent { under_way: 0, last: Instant::now() }))
    }

    /// Until when it is not idle; `None` if it is.
    pub(super) fn busy_until(&self, idle: Duration) -> Option<Instant> {
        let recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let until = if recent.under_way > 0 { now + idle } else { recent.last + idle };
        (until > now).then_some(until)
    }

    fn begins(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).under_way += 1;
    }

    fn ends(&self) {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *recent = Recent { under_way: recent.under_way.saturating_sub(1), last: Instant::now() };
    }
}

/// Gives back a request's place when it is answered or its caller is gone.
struct UnderWay(Arc<Activity>);

impl UnderWay {
    fn new(activity: Arc<Activity>) -> Self {
        activity.begins();
        Self(activity)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.ends();
    }
}

/// Answers a request, and says with it whether the connection ends then. What is known at once is done at once: the rest is carried
/// about until the request is answered.
pub(super) fn answer(
    door: Arc<Door>,
    activity: Arc<Activity>,
    (request, peer): (Request<Incoming>, Option<&Peer>),
    says_farewell: bool,
) -> impl Future<Output = Result<Response<Reply>, Infallible>> + use<> {
    let under_way = UnderWay::new(activity);
    let question = Question::new(&door, request, peer);
    async move {
        let _under_way = under_way;
        let routed = |response: axum::response::Response| response.map(Reply::Routed);
        let mut response = match guarded(door.limits.request_timeout, question.answer(&door)).await {
            Ok(response) => response,
            Err(Failed::Broken) => {
                door.counts.panics.fetch_add(1, Relaxed);
                routed((door.broken)())
            }
            Err(Failed::Late) => routed((door.late)()),
        };
        if says_farewell {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response)
    }
}

/// What most callers ask, which has nobody to look for.
pub(crate) enum Shortcut {
    /// Envoy's call.
    Call(rls::Service<Stack>),
    /// A check over HTTP.
    Check(http::Checks<Stack>),
}

/// A request that is being answered.
enum Question {
    Call(rls::Begun<Incoming>),
    Check(http::Begun<Incoming>),
    /// Apart, so that the others do not carry what routes need.
    Routed(Pin<Box<RouteFuture<Infallible>>>),
}

impl Question {
    fn new(door: &Door, mut request: Request<Incoming>, peer: Option<&Peer>) -> Self {
        match &door.shortcut {
            Some(Shortcut::Call(calls)) if request.uri().path() == rls::PATH => {
                Self::Call(calls.begin(request, peer))
            }
            Some(Shortcut::Check(checks))
                if request.uri().path() == http::CHECK && request.method() == Method::POST =>
            {
                Self::Check(checks.begin(request, peer))
            }
            _ => {
                if let Some(peer) = peer {
                    request.extensions_mut().insert(peer.clone());
                }
                Self::Routed(Box::pin(door.app.clone().call(request)))
            }
        }
    }

    async fn answer(self, door: &Door) -> Response<Reply> {
        match (self, &door.shortcut) {
            (Self::Call(begun), Some(Shortcut::Call(calls))) => calls.finish(begun).await.map(Reply::Call),
            (Self::Check(begun), Some(Shortcut::Check(checks))) => {
                Box::pin(checks.finish(begun)).await.map(Reply::Routed)
            }
            (Self::Routed(route), _) => {
                let Ok(response) = route.await;
                response.map(Reply::Routed)
            }
            // A question comes from the door's own shortcut.
            (Self::Call(_) | Self::Check(_), _) => (door.broken)().map(Reply::Routed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_once_its_last_request_is_long_ago() {
        let (activity, idle) = (Arc::new(Activity::new()), Duration::from_secs(10));
        tokio::time::advance(idle).await;
        assert_eq!(activity.busy_until(idle), None);
        let request = UnderWay::new(Arc::clone(&activity));
        tokio::time::advance(idle * 3).await;
        assert_eq!(activity.busy_until(idle), Some(Instant::now() + idle));
        drop(request);
        tokio::time::advance(idle / 2).await;
        assert_eq!(activity.busy_until(idle), Some(Instant::now() + idle / 2));
    }
}
