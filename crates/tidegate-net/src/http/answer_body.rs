//! The body of an answer, and the guards that its bytes carry until they are sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::activity::{OpenRequest, StreamPermit, UnsentAnswer};
use super::{BoxError, HttpApp};
use crate::budget::{FREE_BYTES, HeldBytes, ListenerBudget};

/// The body of an answer, with the accounting of its bytes.
///
/// Invariant: the guards travel with the bytes, not with the body. hyper drops a body once it has
/// read it, but keeps its bytes until the peer takes them.
pub(super) struct AnswerBody<A: HttpApp> {
    content: A::Body,
    accounting: Accounting,
}

/// Where the guards of the bytes come from.
enum Accounting {
    /// A body of known length: one set of guards, which the first frame carries.
    Whole(Option<AnswerGuards>),
    /// A stream: new guards for each frame.
    PerFrame(StreamPermit, ListenerBudget),
}

/// What bytes hold until they are dropped.
#[derive(Default)]
struct AnswerGuards {
    _held: Option<HeldBytes>,
    _unsent: Option<UnsentAnswer>,
}

/// Bytes with their guards.
struct GuardedBytes<B> {
    bytes: B,
    _guards: AnswerGuards,
}

/// There are no bytes left in the budget, or no stream is allowed.
#[derive(Debug, thiserror::Error)]
#[error("too much is held at once")]
pub(super) struct BudgetExhausted;

impl<A: HttpApp> AnswerBody<A> {
    /// A body of known length. Returns the request if the budget is exhausted.
    pub(super) fn whole(
        content: A::Body,
        open: OpenRequest,
        budget: &ListenerBudget,
    ) -> Result<Self, OpenRequest> {
        let bytes = usize::try_from(content.size_hint().lower()).unwrap_or(usize::MAX);
        match hold(bytes, budget) {
            Ok(held) => Ok(Self::answering(content, open, held)),
            Err(BudgetExhausted) => Err(open),
        }
    }

    /// A short body, which takes nothing from the budget.
    pub(super) fn short(content: A::Body, open: OpenRequest) -> Self {
        Self::answering(content, open, None)
    }

    /// A stream.
    pub(super) fn stream(content: A::Body, permit: StreamPermit, budget: &ListenerBudget) -> Self {
        Self { content, accounting: Accounting::PerFrame(permit, budget.clone()) }
    }

    fn answering(content: A::Body, open: OpenRequest, held: Option<HeldBytes>) -> Self {
        let guards = AnswerGuards { _held: held, _unsent: open.answered() };
        Self { content, accounting: Accounting::Whole(Some(guards)) }
    }
}

impl Accounting {
    /// Attaches guards to the bytes of a frame.
    fn guard<B>(&mut self, bytes: B) -> Result<Bytes, BudgetExhausted>
    where
        B: AsRef<[u8]> + Send + 'static,
    {
        let guards = match self {
            Self::Whole(guards) => guards.take().unwrap_or_default(),
            Self::PerFrame(permit, budget) => {
                AnswerGuards { _held: hold(bytes.as_ref().len(), budget)?, _unsent: Some(permit.frame()) }
            }
        };
        Ok(Bytes::from_owner(GuardedBytes { bytes, _guards: guards }))
    }
}

/// Takes bytes from the budget, unless they are free.
pub(super) fn hold(bytes: usize, budget: &ListenerBudget) -> Result<Option<HeldBytes>, BudgetExhausted> {
    if bytes <= FREE_BYTES { Ok(None) } else { budget.hold(bytes).map(Some).ok_or(BudgetExhausted) }
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for GuardedBytes<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl<A: HttpApp> Body for AnswerBody<A> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { content, accounting } = &mut *self;
        if let Some(buffer) = A::take_buffer(content) {
            return Poll::Ready(Some(accounting.guard(buffer).map(Frame::data).map_err(Into::into)));
        }
        let guard = |frame: Frame<Bytes>| match frame.into_data() {
            Ok(bytes) => accounting.guard(bytes).map(Frame::data).map_err(BoxError::from),
            Err(trailers) => Ok(trailers),
        };
        let polled = Pin::new(content).poll_frame(context);
        polled.map(|frame| frame.map(|frame| frame.map_err(Into::into).and_then(guard)))
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}
