//! The check in front of a service.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use smallvec::SmallVec;
use tidegate_wire::headers::{self, Report, Summary};
use tower_service::Service;

use crate::clock::{Clock, SystemClock};
use crate::rule::Ask;
use crate::tower::body::LimitedBody;
use crate::tower::future::{Admitted, ResponseFuture};
use crate::tower::key::Head;
use crate::tower::layer::{Met, Refuses, Shared};
use crate::tower::refusal;

/// A service with a limiter in front of it.
pub struct RateLimit<S, C = SystemClock> {
    inner: S,
    shared: Arc<Shared<C>>,
}

impl<S, C> RateLimit<S, C> {
    pub(super) fn new(inner: S, shared: Arc<Shared<C>>) -> Self {
        Self { inner, shared }
    }
}

impl<S: Clone, C> Clone for RateLimit<S, C> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<S: std::fmt::Debug, C> std::fmt::Debug for RateLimit<S, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimit").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<S, C, ReqBody, ResBody> Service<Request<ReqBody>> for RateLimit<S, C>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>> + Clone,
    ResBody: Body<Data = Bytes>,
    C: Clock,
{
    type Response = Response<LimitedBody<ResBody, C>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, ReqBody, C>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let (admitted, delay) = match self.shared.check(&Head::from(&request)) {
            Ok(pass) => pass,
            Err(response) => return ResponseFuture::refused(*response),
        };
        if delay.is_zero() {
            return ResponseFuture::calling(self.inner.call(request), admitted);
        }
        // The one that was ready goes with the request; its clone stays and is asked again.
        let clone = self.inner.clone();
        let ready = std::mem::replace(&mut self.inner, clone);
        ResponseFuture::waiting(ready, request, admitted, delay)
    }
}

/// What an admitted request takes along, and how long it is held back.
type Pass<C> = (Admitted<C>, Duration);

impl<C: Clock> Shared<C> {
    /// One check for all rules of the request: a pass, or the answer to a refused one. The client is told of its own
    /// limits, not of those that protect the service.
    fn check(&self, head: &Head<'_>) -> Result<Pass<C>, Box<Response<Bytes>>> {
        let met: SmallVec<[Met<'_>; 4]> =
            self.rules.iter().filter_map(|applied| applied.meet(head)).collect();
        let asks: SmallVec<[Ask<'_, '_>; 4]> = met.iter().map(Met::ask).collect();
        let admission =
            self.limiter.enter(&asks).map_err(|error| Box::new(refusal::of_error(&error, head)))?;
        let (decision, guard) = admission.into_parts();
        let told: SmallVec<[Report<'_>; 4]> = decision
            .verdicts()
            .zip(&met)
            .filter(|(_, met)| met.applied.refuses == Refuses::TooMany)
            .map(|((rule, verdict), _)| Report::new(rule.name(), rule.limit(), verdict))
            .collect();
        let summary = Summary::new(&told, self.limiter.now()).jittered(&self.settings, self.draw());
        let headers = headers::of(&summary, &self.settings);
        if let Some(guard) = guard {
            return Ok((Admitted { headers, guard }, decision.delay()));
        }
        Err(Box::new(refusal::of_summary(&summary, &headers, head)))
    }

    /// A number that nobody can foresee, if there is a use for it. Each hasher of the standard library has other keys.
    fn draw(&self) -> u64 {
        if self.settings.retry_jitter_percent == 0 { 0 } else { RandomState::new().hash_one(()) }
    }
}
