//! A bell: whoever waits for several things asks about those that seldom happen only when they rang.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Remembers whether something rang since it was asked about, also while its owner waited for something else.
#[derive(Default)]
pub(super) struct Bell(Option<Arc<Rope>>);

/// What those who are asked may pull.
struct Rope {
    rang: AtomicBool,
    sleeper: Waker,
}

impl Wake for Rope {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rang.store(true, Ordering::Release);
        self.sleeper.wake_by_ref();
    }
}

impl Bell {
    /// Asks, unless there was nothing when it was asked before and nobody rang since.
    pub(super) fn ask<T>(
        &mut self,
        context: &Context<'_>,
        ask: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let rope = self.0.take().filter(|rope| rope.sleeper.will_wake(context.waker()));
        let rope = match rope {
            Some(rope) if !rope.rang.load(Ordering::Acquire) => {
                self.0 = Some(rope);
                return Poll::Pending;
            }
            Some(rope) => rope,
            None => Arc::new(Rope { rang: AtomicBool::new(false), sleeper: context.waker().clone() }),
        };
        // Whoever rings from here on may have been asked before: it is asked again. Why others rang can be seen.
        rope.rang.swap(false, Ordering::Acquire);
        let waker = Waker::from(Arc::clone(&rope));
        let answer = ask(&mut Context::from_waker(&waker));
        if answer.is_pending() {
            self.0 = Some(rope);
        }
        answer
    }

    /// What is asked about has changed: it is asked next time, whether it rang or not.
    pub(super) fn forget(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks a bell whose askers answer so; whether they were asked, and what they had pulled on.
    fn asked(bell: &mut Bell, sleeper: &Waker, answer: Poll<()>) -> Option<Waker> {
        let mut rope = None;
        let heard = bell.ask(&Context::from_waker(sleeper), |context| {
            rope = Some(context.waker().clone());
            answer
        });
        assert_eq!(heard, if rope.is_some() { answer } else { Poll::Pending });
        rope
    }

    /// Somebody who can be woken, and whether he was.
    fn sleeper() -> (Waker, Arc<Rope>) {
        let rope = Arc::new(Rope { rang: AtomicBool::new(false), sleeper: Waker::noop().clone() });
        (Waker::from(Arc::clone(&rope)), rope)
    }

    #[test]
    fn it_is_asked_only_when_something_may_have_happened() {
        let ((sleeper, slept), mut bell) = (sleeper(), Bell::default());
        let rope = asked(&mut bell, &sleeper, Poll::Pending).expect("nobody knows anything yet");
        assert!(asked(&mut bell, &sleeper, Poll::Pending).is_none());
        rope.wake();
        assert!(slept.rang.load(Ordering::Relaxed), "the sleeper is woken");
        assert!(asked(&mut bell, &sleeper, Poll::Pending).is_some(), "it rang");
        assert!(asked(&mut bell, &sleeper, Poll::Pending).is_none(), "once");
        bell.forget();
        assert!(asked(&mut bell, &sleeper, Poll::Ready(())).is_some(), "it was forgotten");
        assert!(asked(&mut bell, &sleeper, Poll::Pending).is_some(), "there may be more");
    }

    #[test]
    fn who_rings_while_asked_is_asked_again() {
        let ((sleeper, _slept), mut bell) = (sleeper(), Bell::default());
        let heard: Poll<()> = bell.ask(&Context::from_waker(&sleeper), |context| {
            context.waker().wake_by_ref();
            Poll::Pending
        });
        assert!(heard.is_pending());
        assert!(asked(&mut bell, &sleeper, Poll::Pending).is_some());
    }

    #[test]
    fn another_sleeper_is_the_one_to_be_woken() {
        let ((first, _), (second, slept), mut bell) = (sleeper(), sleeper(), Bell::default());
        assert!(asked(&mut bell, &first, Poll::Pending).is_some());
        let rope = asked(&mut bell, &second, Poll::Pending).expect("a new rope is hung");
        rope.wake();
        assert!(slept.rang.load(Ordering::Relaxed));
    }
}
