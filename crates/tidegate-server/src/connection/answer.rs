//! One request: within its time, and whatever breaks on the way breaks nothing else.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use axum::extract::Request;
use axum::http::{Method, Response, StatusCode};
use hyper::body::Incoming;
use tidegate_frontend::door::{Held, Room};
use tidegate_frontend::{http, rls};
use tidegate_wire::trust::Peer;
use tower_service::Service as _;

use super::activity::{Activity, Asked, Stream};
use super::reply::{Content, NoRoom, Reply, hold};
use crate::guarded::{Failed, guarded};
use crate::listener::Door;
use crate::stack::Stack;

/// Answers a request. What is known at once is done at once: the rest is carried about until the request is answered.
pub(super) fn answer(
    door: Arc<Door>,
    activity: &Arc<Activity>,
    (request, peer): (Request<Incoming>, Option<&Peer>),
) -> impl Future<Output = Result<Response<Reply>, Infallible>> + use<> {
    let asked = Asked::new(activity);
    let (question, stream) = Question::new(&door, (request, peer), activity);
    async move {
        let response = match guarded(door.limits.request_timeout, question.answer(&door)).await {
            Ok(response) => response,
            Err(Failed::Broken) => {
                door.counts.panics.fetch_add(1, Relaxed);
                routed((door.broken)())
            }
            Err(Failed::Late) => routed((door.late)()),
        };
        Ok(match stream {
            Some(stream) => response.map(|content| Reply::stream(content, stream, &door.room)),
            None => held(&door, response, asked),
        })
    }
}

fn routed(response: axum::response::Response) -> Response<Content> {
    response.map(Content::Routed)
}

/// An answer with the room that it takes until it is sent; or, if there is none, that there is none.
fn held(door: &Door, response: Response<Content>, asked: Asked) -> Response<Reply> {
    let (head, content) = response.into_parts();
    match Reply::new(content, asked, &door.room) {
        Ok(reply) => Response::from_parts(head, reply),
        Err(asked) => routed((door.busy)()).map(|content| Reply::short(content, asked)),
    }
}

/// What most callers ask, over HTTP/1.1 or HTTP/2: hyper has read the head, and no route is looked for.
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
    Routed(Pin<Box<dyn Future<Output = axum::response::Response> + Send>>),
    /// There is no room for its head, or for what it asks for.
    Refused,
}

impl Question {
    /// With its place among the answers that go on, if it is to be one of those.
    fn new(
        door: &Door,
        (request, peer): (Request<Incoming>, Option<&Peer>),
        activity: &Arc<Activity>,
    ) -> (Self, Option<Stream>) {
        match &door.shortcut {
            Some(Shortcut::Call(calls)) if request.uri().path() == rls::PATH => {
                (Self::Call(calls.begin(request, peer)), None)
            }
            Some(Shortcut::Check(checks))
                if request.uri().path() == http::CHECK && request.method() == Method::POST =>
            {
                (Self::Check(checks.begin(request, peer)), None)
            }
            _ if (door.goes_on)(request.uri().path()) => match Stream::open(activity) {
                None => (Self::Refused, None),
                stream => (Self::routed(door, request, peer), stream),
            },
            _ => (Self::routed(door, request, peer), None),
        }
    }

    fn routed(door: &Door, mut request: Request<Incoming>, peer: Option<&Peer>) -> Self {
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer.clone());
        }
        let Ok(held) = hold_head(&request, &door.room) else { return Self::Refused };
        let route = door.app.clone().call(request);
        Self::Routed(Box::pin(async move {
            let (_held, Ok(response)) = (held, route.await);
            response
        }))
    }

    async fn answer(self, door: &Door) -> Response<Content> {
        match (self, &door.shortcut) {
            (Self::Call(begun), Some(Shortcut::Call(calls))) => calls.finish(begun).await.map(Content::Call),
            (Self::Check(begun), Some(Shortcut::Check(checks))) => {
                routed(Box::pin(checks.finish(begun)).await)
            }
            (Self::Routed(route), _) => {
                let response = route.await;
                if response.status() == StatusCode::UNAUTHORIZED {
                    door.counts.strangers.fetch_add(1, Relaxed);
                }
                routed(response)
            }
            (Self::Refused, _) => routed((door.busy)()),
            // A question comes from the door's own shortcut.
            (Self::Call(_) | Self::Check(_), _) => routed((door.broken)()),
        }
    }
}

/// The room that a long head takes as long as its request is under way. As HTTP/2 counts them: 32 bytes for a field besides its own.
fn hold_head(request: &Request<Incoming>, room: &Room) -> Result<Option<Held>, NoRoom> {
    let path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    let host = request.uri().authority().map_or(0, |host| host.as_str().len());
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 32);
    hold(request.method().as_str().len() + path + host + fields.sum::<usize>(), room)
}
