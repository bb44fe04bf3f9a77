//! One request: within its time, and a panic in it affects no other request.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use http::{Request, Response};
use hyper::body::Incoming;

use super::activity::{ConnectionActivity, OpenRequest, StreamPermit};
use super::answer_body::{AnswerBody, BudgetExhausted, hold};
use super::{CallerRefused, HttpApp, HttpListener, RequestKind};
use crate::budget::{HeldBytes, ListenerBudget};
use crate::deadline::{Failure, within};

/// Answers a request. The head is read here, before the first poll: the future carries only what the
/// application keeps of it.
pub(super) fn answer<A: HttpApp>(
    server: Arc<HttpListener<A>>,
    activity: &Arc<ConnectionActivity>,
    request: Request<Incoming>,
    connection: &A::Connection,
) -> impl Future<Output = Result<Response<AnswerBody<A>>, Infallible>> + Send + use<A> {
    let open = OpenRequest::new(activity);
    let admitted = Admitted::new(&server, activity, &request);
    // Without bytes for its head or a place for its stream, the application is not asked.
    let (begun, Admitted { head, stream }) = match admitted {
        Ok(admitted) => (Some(server.app.begin(request, connection)), admitted),
        Err(BudgetExhausted) => (None, Admitted::default()),
    };
    async move {
        let response = match begun {
            None => server.app.busy(),
            Some(begun) => {
                let timeout = server.listener.limits.request_timeout;
                settled(&server, within(timeout, server.app.finish(begun)).await)
            }
        };
        drop(head);
        Ok(match stream {
            Some(permit) => response.map(|body| AnswerBody::stream(body, permit, &server.budget)),
            None => accounted(&server, response, open),
        })
    }
}

/// What a request takes before the application sees it.
#[derive(Default)]
struct Admitted {
    /// The bytes of a long head. Boxed to keep the future of the answer small: most heads are short.
    head: Option<Box<HeldBytes>>,
    stream: Option<StreamPermit>,
}

impl Admitted {
    fn new<A: HttpApp>(
        server: &HttpListener<A>,
        activity: &Arc<ConnectionActivity>,
        request: &Request<Incoming>,
    ) -> Result<Self, BudgetExhausted> {
        let stream = match server.app.kind(request) {
            RequestKind::HeadDropped => return Ok(Self::default()),
            RequestKind::HeadKept => None,
            RequestKind::Stream => Some(StreamPermit::acquire(activity).ok_or(BudgetExhausted)?),
        };
        Ok(Self { head: hold_head(request, &server.budget)?, stream })
    }
}

/// The response of the application, or the one that tells why there is none.
fn settled<A: HttpApp>(
    server: &HttpListener<A>,
    outcome: Result<Response<A::Body>, Failure>,
) -> Response<A::Body> {
    let counts = &server.listener.counts;
    match outcome {
        Ok(response) => {
            if response.extensions().get::<CallerRefused>().is_some() {
                counts.unauthorized.fetch_add(1, Relaxed);
            }
            response
        }
        Err(Failure::Panicked) => {
            counts.panics.fetch_add(1, Relaxed);
            server.app.panicked()
        }
        Err(Failure::TimedOut) => server.app.timed_out(),
    }
}

/// A response whose bytes are taken from the budget until they are sent; or `busy` without them.
fn accounted<A: HttpApp>(
    server: &HttpListener<A>,
    response: Response<A::Body>,
    open: OpenRequest,
) -> Response<AnswerBody<A>> {
    let (head, body) = response.into_parts();
    match AnswerBody::whole(body, open, &server.budget) {
        Ok(body) => Response::from_parts(head, body),
        Err(open) => server.app.busy().map(|body| AnswerBody::short(body, open)),
    }
}

/// The bytes of a long head, counted as HTTP/2 does: 32 for each field besides its name and value.
fn hold_head(
    request: &Request<Incoming>,
    budget: &ListenerBudget,
) -> Result<Option<Box<HeldBytes>>, BudgetExhausted> {
    let path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    let host = request.uri().authority().map_or(0, |host| host.as_str().len());
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 32);
    let bytes = request.method().as_str().len() + path + host + fields.sum::<usize>();
    Ok(hold(bytes, budget)?.map(Box::new))
}
