//! Between two commands: a connection of the Redis protocol waits for bytes, for its server to go away, and for the time to look at the clock.

mod bell;
#[cfg(test)]
mod tests;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep_until};

use bell::Bell;

/// How often a connection is read from before others have a turn, if there is always something to read.
const MOST_IN_A_ROW: u32 = 4;

/// What happened.
#[derive(Debug)]
pub(super) enum Event {
    Bytes(io::Result<usize>),
    /// The server is going away. It is heard once.
    Going,
    /// It is time to look at the clock.
    Alarm,
}

pin_project_lite::pin_project! {
    /// What is waited for, but for the bytes.
    pub(super) struct Between<G> {
        #[pin]
        going: G,
        has_heard: bool,
        #[pin]
        alarm: Sleep,
        bell: Bell,
        in_a_row: u32,
    }
}

impl<G: Future<Output = ()>> Between<G> {
    pub(super) fn new(going: G, look_at: Instant) -> Self {
        Self { going, has_heard: false, alarm: sleep_until(look_at), bell: Bell::default(), in_a_row: 0 }
    }

    /// Waits. Bytes come first, and go behind those that are there.
    ///
    /// Where there are none, the others are asked if they rang: what woke the connection may have done so while it waited for
    /// something else, so it is the bell that remembers it.
    pub(super) async fn hear(
        mut self: Pin<&mut Self>,
        stream: &mut (impl AsyncRead + Unpin),
        room: &mut Vec<u8>,
    ) -> Event {
        let mut read = pin!(stream.read_buf(room));
        if self.in_a_row >= MOST_IN_A_ROW {
            *self.as_mut().project().in_a_row = 0;
            yield_now().await;
        }
        *self.as_mut().project().in_a_row += 1;
        poll_fn(|context| match read.as_mut().poll(context) {
            Poll::Ready(bytes) => Poll::Ready(Event::Bytes(bytes)),
            Poll::Pending => {
                *self.as_mut().project().in_a_row = 0;
                self.as_mut().ask(context)
            }
        })
        .await
    }

    /// Whether the server is going away and that was not heard before; for those to whom bytes come without a pause, who would not
    /// hear of it otherwise.
    pub(super) async fn hears_of_going(mut self: Pin<&mut Self>) -> bool {
        if self.in_a_row == 0 {
            return false;
        }
        poll_fn(|context| Poll::Ready(matches!(self.as_mut().ask(context), Poll::Ready(Event::Going)))).await
    }

    /// Looks at the clock at that time, or before: to wake too early costs less than to be set anew with each request.
    pub(super) fn look_at(self: Pin<&mut Self>, at: Instant) {
        let mut this = self.project();
        if this.alarm.is_elapsed() || at < this.alarm.deadline() {
            this.alarm.as_mut().reset(at);
            this.bell.forget();
        }
    }

    fn ask(self: Pin<&mut Self>, context: &Context<'_>) -> Poll<Event> {
        let this = self.project();
        this.bell.ask(context, |context| {
            if !*this.has_heard && this.going.poll(context).is_ready() {
                *this.has_heard = true;
                return Poll::Ready(Event::Going);
            }
            this.alarm.poll(context).map(|()| Event::Alarm)
        })
    }
}
