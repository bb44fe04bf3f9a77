//! A plan's counters wherever they are: those in the table with their lock bits taken, all others behind the mutexes of
//! their shards, which are taken first.

use tidegate_core::{State, Timestamp};

use super::held::Held;
use crate::contract::{Answer, StoreError};
use crate::reference::Locked;
use crate::step::Counters;
use crate::ways::Ledger;

pub(crate) struct Mixed<'a> {
    // The lock bits go first: nothing is done under them but arithmetic.
    pub(super) held: Held<'a>,
    pub(super) rest: Locked<'a>,
}

impl Counters for Mixed<'_> {
    fn state(&self, index: usize) -> &State {
        self.held.state(index).unwrap_or_else(|| self.rest.state(index))
    }

    fn change<T>(&mut self, index: usize, change: impl FnOnce(&mut State) -> T) -> T {
        if self.held.state(index).is_some() {
            self.held.change(index, change).expect("it is here")
        } else {
            self.rest.change(index, change)
        }
    }

    fn change_if_there<T>(&mut self, index: usize, change: impl FnOnce(&mut State) -> T) -> Option<T> {
        if self.held.has(index) {
            self.held.change(index, change)
        } else {
            self.rest.change_if_there(index, change)
        }
    }
}

impl Ledger for Mixed<'_> {
    fn replay(&self, now: Timestamp) -> Result<Option<Answer>, StoreError> {
        self.rest.replay(now)
    }

    fn make_room(&mut self, now: Timestamp) {
        self.rest.make_room(now);
    }

    fn remember(&mut self, answer: &Answer, now: Timestamp) {
        self.rest.remember(answer, now);
    }

    fn forget_name(&mut self) {
        self.rest.forget_name();
    }

    fn forget(&mut self, index: usize) -> bool {
        self.held.forget(index) | self.rest.forget(index)
    }

    /// What does not fit into its slot goes to the others; who looks for it meanwhile waits for their mutex.
    fn close(self, now: Timestamp) {
        let Self { held, mut rest, .. } = self;
        for spilled in held.write(now) {
            rest.change(spilled.index, |state| *state = spilled.state);
        }
        rest.close(now);
    }
}
