//! A flag that a wake-up raises, so that rare events are polled only after one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Remembers wake-ups of the futures that it polls, also while its task waits for something else.
#[derive(Default)]
pub(super) struct WakeFlag(Option<Arc<FlagWaker>>);

/// The waker that those futures get.
struct FlagWaker {
    is_raised: AtomicBool,
    task: Waker,
}

impl Wake for FlagWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_raised.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

impl WakeFlag {
    /// Polls, unless the last poll was pending and nothing has raised the flag since.
    pub(super) fn poll<T>(
        &mut self,
        context: &Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let flag = self.0.take().filter(|flag| flag.task.will_wake(context.waker()));
        let flag = match flag {
            Some(flag) if !flag.is_raised.load(Ordering::Acquire) => {
                self.0 = Some(flag);
                return Poll::Pending;
            }
            Some(flag) => flag,
            None => Arc::new(FlagWaker { is_raised: AtomicBool::new(false), task: context.waker().clone() }),
        };
        // Lowered before the poll: a wake-up during the poll raises it again. The swap pairs with the
        // store of the waker, so the poll sees what caused the wake-up.
        flag.is_raised.swap(false, Ordering::Acquire);
        let waker = Waker::from(Arc::clone(&flag));
        let polled = poll(&mut Context::from_waker(&waker));
        if polled.is_pending() {
            self.0 = Some(flag);
        }
        polled
    }

    /// Polls next time in any case: what is polled has changed.
    pub(super) fn reset(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls something that answers so; the waker that it got, if it was polled.
    fn polled(flag: &mut WakeFlag, task: &Waker, answer: Poll<()>) -> Option<Waker> {
        let mut waker = None;
        let polled = flag.poll(&Context::from_waker(task), |context| {
            waker = Some(context.waker().clone());
            answer
        });
        assert_eq!(polled, if waker.is_some() { answer } else { Poll::Pending });
        waker
    }

    /// A task that can be woken, and the flag that tells whether it was.
    fn task() -> (Waker, Arc<FlagWaker>) {
        let flag = Arc::new(FlagWaker { is_raised: AtomicBool::new(false), task: Waker::noop().clone() });
        (Waker::from(Arc::clone(&flag)), flag)
    }

    #[test]
    fn polls_only_after_a_wake_up() {
        let ((task, woken), mut flag) = (task(), WakeFlag::default());
        let waker = polled(&mut flag, &task, Poll::Pending).expect("the first poll");
        assert!(polled(&mut flag, &task, Poll::Pending).is_none());
        waker.wake();
        assert!(woken.is_raised.load(Ordering::Relaxed), "the task is woken");
        assert!(polled(&mut flag, &task, Poll::Pending).is_some(), "after a wake-up");
        assert!(polled(&mut flag, &task, Poll::Pending).is_none(), "once");
        flag.reset();
        assert!(polled(&mut flag, &task, Poll::Ready(())).is_some(), "after a reset");
        assert!(polled(&mut flag, &task, Poll::Pending).is_some(), "there may be more");
    }

    #[test]
    fn a_wake_up_during_a_poll_counts() {
        let ((task, _woken), mut flag) = (task(), WakeFlag::default());
        let pending: Poll<()> = flag.poll(&Context::from_waker(&task), |context| {
            context.waker().wake_by_ref();
            Poll::Pending
        });
        assert!(pending.is_pending());
        assert!(polled(&mut flag, &task, Poll::Pending).is_some());
    }

    #[test]
    fn another_task_gets_the_wake_ups() {
        let ((first, _), (second, woken), mut flag) = (task(), task(), WakeFlag::default());
        assert!(polled(&mut flag, &first, Poll::Pending).is_some());
        let waker = polled(&mut flag, &second, Poll::Pending).expect("a new task is polled");
        waker.wake();
        assert!(woken.is_raised.load(Ordering::Relaxed));
    }
}
