//! A store that answers when it is told to.

use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Poll, Waker};

use tidegate_core::Timestamp;
use tidegate_store::{Act, Done, Reference, Store, StoreError};

/// Counts in memory, but every question waits until it is let go, in whatever order.
#[derive(Default)]
pub(super) struct Slow {
    inner: Reference,
    questions: Mutex<Questions>,
}

#[derive(Default)]
struct Questions {
    /// How many were let go.
    let_go: Vec<bool>,
    wakers: Vec<Waker>,
}

impl Slow {
    /// How many have been asked.
    pub(super) fn asked(&self) -> usize {
        self.questions.lock().unwrap().let_go.len()
    }

    /// Lets one be answered.
    pub(super) fn let_go(&self, question: usize) {
        let mut questions = self.questions.lock().unwrap();
        questions.let_go[question] = true;
        questions.wakers.drain(..).for_each(Waker::wake);
    }

    async fn wait(&self) {
        let own = {
            let mut questions = self.questions.lock().unwrap();
            questions.let_go.push(false);
            questions.let_go.len() - 1
        };
        poll_fn(|context| {
            let mut questions = self.questions.lock().unwrap();
            if questions.let_go[own] {
                return Poll::Ready(());
            }
            questions.wakers.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Store for Slow {
    async fn run(&self, act: Act<'_>, now: Timestamp) -> Result<Done, StoreError> {
        // What is counted is counted in the order in which it was asked.
        let done = self.inner.run_now(act, now);
        if matches!(act, Act::Decide(_)) {
            self.wait().await;
        }
        done
    }
}
