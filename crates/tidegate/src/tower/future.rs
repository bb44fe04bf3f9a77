//! The way of one request through the layer: refused at once, held back, or passed on.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tidegate_wire::headers::HeaderLines;
use tokio::time::{Sleep, sleep};
use tower_service::Service;

use crate::clock::{Clock, SystemClock};
use crate::guard::Guard;
use crate::tower::body::LimitedBody;

/// What an admitted request takes along: its slots, and headers for its response.
#[derive(Debug)]
pub(super) struct Admitted<C: Clock> {
    pub(super) headers: HeaderLines,
    pub(super) guard: Guard<C>,
}

pin_project! {
    /// Becomes the service's response, or the refusal. Dropping it gives the request's slots back.
    pub struct ResponseFuture<S, B, C = SystemClock>
    where
        S: Service<Request<B>>,
        C: Clock,
    {
        #[pin]
        stage: Stage<S, B, S::Future>,
        admitted: Option<Admitted<C>>,
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<S, B, F> {
        Refused { response: Option<Response<Bytes>> },
        Waiting { #[pin] sleep: Sleep, service: S, request: Option<Request<B>> },
        Calling { #[pin] future: F },
    }
}

impl<S: Service<Request<B>>, B, C: Clock> ResponseFuture<S, B, C> {
    pub(super) fn refused(response: Response<Bytes>) -> Self {
        Self { stage: Stage::Refused { response: Some(response) }, admitted: None }
    }

    pub(super) fn waiting(service: S, request: Request<B>, admitted: Admitted<C>, delay: Duration) -> Self {
        let stage = Stage::Waiting { sleep: sleep(delay), service, request: Some(request) };
        Self { stage, admitted: Some(admitted) }
    }

    pub(super) fn calling(future: S::Future, admitted: Admitted<C>) -> Self {
        Self { stage: Stage::Calling { future }, admitted: Some(admitted) }
    }
}

impl<S, B, ResBody, C> Future for ResponseFuture<S, B, C>
where
    S: Service<Request<B>, Response = Response<ResBody>>,
    ResBody: Body<Data = Bytes>,
    C: Clock,
{
    type Output = Result<Response<LimitedBody<ResBody, C>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.stage.as_mut().project() {
                StageProjection::Refused { response } => {
                    let response = response.take().expect("a future is not polled after it is ready");
                    return Poll::Ready(Ok(response.map(LimitedBody::refusal)));
                }
                StageProjection::Waiting { sleep, service, request } => {
                    ready!(sleep.poll(context));
                    let request = request.take().expect("a request waits once");
                    let future = service.call(request);
                    this.stage.set(Stage::Calling { future });
                }
                StageProjection::Calling { future } => {
                    let response = ready!(future.poll(context));
                    let admitted = this.admitted.take().expect("a future is not polled after it is ready");
                    return Poll::Ready(response.map(|response| admitted.dress(response)));
                }
            }
        }
    }
}

impl<C: Clock> Admitted<C> {
    /// Lets the response carry the headers, and its body the slots. What the service said of its own limits in the IETF's
    /// fields, which are lists, stays.
    fn dress<B>(self, response: Response<B>) -> Response<LimitedBody<B, C>> {
        let (mut parts, body) = response.into_parts();
        self.headers.put_into(&mut parts.headers);
        Response::from_parts(parts, LimitedBody::inner(body, self.guard))
    }
}
