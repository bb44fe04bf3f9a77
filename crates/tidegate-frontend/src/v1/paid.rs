//! The messages of calls pay for the room that they take, as those of all other doors do, before anybody reads them. Answers are
//! written at once, so that it is known how long they are.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Full};
use tidegate_store::Store;
use tonic::server::NamedService;

use super::Service;
use super::proto::limits_server::{LimitsServer, SERVICE_NAME};
use crate::door::Door;
use crate::rls::{at_least, framed};

/// The service, ready to be added to a tonic server. Clones are the same.
pub struct Paid<S> {
    door: Door<S>,
    service: LimitsServer<Service<S>>,
}

impl<S: Store> Paid<S> {
    pub(super) fn new(door: Door<S>) -> Self {
        let most = door.settings().max_body_bytes;
        let service = LimitsServer::new(Service { door: door.clone() });
        let service = service.max_decoding_message_size(most).max_encoding_message_size(most);
        Self { door, service }
    }
}

impl<S: Store, B> tower_service::Service<Request<B>> for Paid<S>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    type Response = Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { door, mut service } = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            match framed(body, door.settings().max_body_bytes, door.bodies()).await {
                Ok((message, _share)) => {
                    let answer = service.call(Request::from_parts(head, Full::new(message))).await?;
                    Ok(written(answer).await)
                }
                Err(status) => Ok(status.into_http()),
            }
        })
    }
}

/// An answer with its message in bytes. Nothing in it waits for anybody.
async fn written(answer: Response<tonic::body::Body>) -> Response<tonic::body::Body> {
    let (head, body) = answer.into_parts();
    match body.collect().await {
        Ok(body) => {
            let trailers = body.trailers().cloned();
            let written =
                Written { message: Some(body.to_bytes()).filter(|bytes| !bytes.is_empty()), trailers };
            Response::from_parts(head, tonic::body::Body::new(written))
        }
        Err(status) => status.into_http(),
    }
}

/// The message of an answer, and how the call ended.
struct Written {
    message: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

impl Body for Written {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let message = self.message.take().map(Frame::data);
        Poll::Ready(message.or_else(|| self.trailers.take().map(Frame::trailers)).map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.message.is_none() && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        at_least(self.message.as_ref().map_or(0, Bytes::len))
    }
}

impl<S> NamedService for Paid<S> {
    const NAME: &'static str = SERVICE_NAME;
}

impl<S> Clone for Paid<S> {
    fn clone(&self) -> Self {
        Self { door: self.door.clone(), service: self.service.clone() }
    }
}

impl<S> fmt::Debug for Paid<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paid").field("door", &self.door).finish_non_exhaustive()
    }
}
