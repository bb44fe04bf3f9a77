//! The wait between two commands: for bytes, for the server to stop, and for a timer.

#[cfg(test)]
mod tests;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep_until};

use super::wake_flag::WakeFlag;

/// How often a connection that always has bytes to read does so before it yields.
const MAX_READS_IN_A_ROW: u32 = 4;

/// What ended a wait.
#[derive(Debug)]
pub enum IdleEvent {
    /// Bytes were read; 0 at the end of the stream.
    Read(io::Result<usize>),
    /// The server is draining. This is reported once.
    Draining,
    /// The timer has fired.
    Timer,
}

pin_project_lite::pin_project! {
    /// Waits between two commands.
    ///
    /// Draining and the timer are rare, so they are polled only after a wake-up of theirs. Invariant:
    /// `flag` remembers such a wake-up even if it came while the connection waited for something else.
    pub struct IdleWait<D> {
        #[pin]
        draining: D,
        is_reported: bool,
        #[pin]
        timer: Sleep,
        flag: WakeFlag,
        reads_in_a_row: u32,
    }
}

impl<D: Future<Output = ()>> IdleWait<D> {
    /// `draining` completes when the server drains; the timer fires at `wake_at`.
    pub fn new(draining: D, wake_at: Instant) -> Self {
        let (timer, flag) = (sleep_until(wake_at), WakeFlag::default());
        Self { draining, is_reported: false, timer, flag, reads_in_a_row: 0 }
    }

    /// Waits for the next event. Bytes come first, and are appended to `buffer`.
    pub async fn next_event(
        mut self: Pin<&mut Self>,
        stream: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
    ) -> IdleEvent {
        let mut read = pin!(stream.read_buf(buffer));
        if self.reads_in_a_row >= MAX_READS_IN_A_ROW {
            *self.as_mut().project().reads_in_a_row = 0;
            yield_now().await;
        }
        *self.as_mut().project().reads_in_a_row += 1;
        poll_fn(|context| match read.as_mut().poll(context) {
            Poll::Ready(bytes) => Poll::Ready(IdleEvent::Read(bytes)),
            Poll::Pending => {
                *self.as_mut().project().reads_in_a_row = 0;
                self.as_mut().poll_rare(context)
            }
        })
        .await
    }

    /// Whether the server has begun to drain, if that is not reported yet. For connections whose bytes
    /// never pause: [`next_event`](Self::next_event) would never get to it.
    pub async fn is_draining_now(mut self: Pin<&mut Self>) -> bool {
        if self.reads_in_a_row == 0 {
            return false;
        }
        poll_fn(|context| {
            Poll::Ready(matches!(self.as_mut().poll_rare(context), Poll::Ready(IdleEvent::Draining)))
        })
        .await
    }

    /// Sets the timer to `at` or earlier: an early wake-up costs less than a timer that is set with
    /// each command.
    pub fn wake_at(self: Pin<&mut Self>, at: Instant) {
        let mut this = self.project();
        if this.timer.is_elapsed() || at < this.timer.deadline() {
            this.timer.as_mut().reset(at);
            this.flag.reset();
        }
    }

    fn poll_rare(self: Pin<&mut Self>, context: &Context<'_>) -> Poll<IdleEvent> {
        let this = self.project();
        this.flag.poll(context, |context| {
            if !*this.is_reported && this.draining.poll(context).is_ready() {
                *this.is_reported = true;
                return Poll::Ready(IdleEvent::Draining);
            }
            this.timer.poll(context).map(|()| IdleEvent::Timer)
        })
    }
}
