//! When a connection ends: when it is old, when nothing was asked for too long, when a command does not come to its end, and soon
//! when the server goes away. Time is an argument.

use std::time::Duration;

use tokio::time::Instant;

use crate::config::Limits;
use crate::connection::{PATIENCE, spread};

/// The times of one connection.
#[derive(Debug)]
pub(super) struct Hours {
    idle_timeout: Duration,
    request_timeout: Duration,
    /// When it is old.
    old_at: Instant,
    /// When it ends unless something is asked.
    quiet_at: Instant,
    /// Whether a command has come in part.
    is_within: bool,
    /// Whether it ends as soon as no command is there in part.
    is_ending: bool,
}

/// What came of the bytes that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Came {
    /// Whether a command was answered.
    pub(super) answered: bool,
    /// Whether another one is there in part.
    pub(super) within: bool,
}

impl Hours {
    pub(super) fn new(limits: &Limits, now: Instant) -> Self {
        Self {
            idle_timeout: limits.idle_timeout,
            request_timeout: limits.request_timeout,
            old_at: now + spread(limits.connection_age),
            quiet_at: now + limits.idle_timeout,
            is_within: false,
            is_ending: false,
        }
    }

    /// Something has come. A command has its time as a whole, and not each of its bytes; and what is none takes no time.
    pub(super) fn heard(&mut self, now: Instant, Came { answered, within }: Came) {
        let begins = within && (answered || !self.is_within);
        self.is_within = within;
        match (begins, answered) {
            _ if self.is_ending => {}
            (true, _) => self.quiet_at = now + self.request_timeout,
            (false, true) => self.quiet_at = now + self.idle_timeout,
            (false, false) => {}
        }
    }

    /// It ends soon, whatever comes.
    pub(super) fn end_soon(&mut self, now: Instant) {
        if !self.is_ending {
            self.is_ending = true;
            self.quiet_at = self.quiet_at.min(now + PATIENCE);
        }
    }

    /// Whether it has ended.
    pub(super) fn is_over(&mut self, now: Instant) -> bool {
        if now >= self.old_at {
            self.end_soon(now);
        }
        (self.is_ending && !self.is_within) || now >= self.quiet_at
    }

    /// When to look again, if nothing comes before.
    pub(super) fn next_look(&self) -> Instant {
        if self.is_ending { self.quiet_at } else { self.quiet_at.min(self.old_at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const ANSWERED: Came = Came { answered: true, within: false };
    const PART: Came = Came { answered: false, within: true };

    /// Times of a connection that begins now: idle after 60 s, a command within 10 s, old after an hour or so.
    fn hours() -> (Hours, impl Fn(u32) -> Instant) {
        let begin = Instant::now();
        let limits = Limits {
            idle_timeout: 60 * SECOND,
            request_timeout: 10 * SECOND,
            connection_age: 3600 * SECOND,
            ..Limits::default()
        };
        (Hours::new(&limits, begin), move |seconds| begin + seconds * SECOND)
    }

    #[test]
    fn it_ends_when_nothing_was_asked_for_long() {
        let (mut hours, at) = hours();
        hours.heard(at(50), ANSWERED);
        assert!(!hours.is_over(at(109)));
        assert_eq!(hours.next_look(), at(110));
        assert!(hours.is_over(at(110)));
    }

    #[test]
    fn what_is_no_command_keeps_nothing_open() {
        let (mut hours, at) = hours();
        hours.heard(at(59), Came { answered: false, within: false });
        assert!(hours.is_over(at(60)));
    }

    #[test]
    fn a_command_that_comes_byte_by_byte_has_its_time_as_a_whole() {
        let (mut hours, at) = hours();
        for second in 1..10 {
            hours.heard(at(second), PART);
            assert!(!hours.is_over(at(second)));
        }
        assert!(hours.is_over(at(11)));
        let (mut hours, at) = super::tests::hours();
        hours.heard(at(1), PART);
        hours.heard(at(9), Came { answered: true, within: true });
        assert!(!hours.is_over(at(18)), "it is another command");
        assert!(hours.is_over(at(19)));
    }

    #[test]
    fn an_old_one_ends_between_two_commands_or_a_little_later() {
        let (mut hours, at) = hours();
        hours.heard(at(4000), ANSWERED);
        assert!(hours.is_over(at(4000)), "however busy");
        let (mut hours, at) = super::tests::hours();
        hours.heard(at(4000), PART);
        assert!(!hours.is_over(at(4000)));
        assert_eq!(hours.next_look(), at(4000) + PATIENCE);
        hours.heard(at(4000), Came { answered: true, within: true });
        assert!(hours.is_over(at(4000) + PATIENCE), "there is always another one");
    }

    #[test]
    fn when_the_server_goes_it_ends_at_once_or_after_the_command_under_way() {
        let (mut hours, at) = hours();
        hours.end_soon(at(5));
        assert!(hours.is_over(at(5)));
        let (mut hours, at) = super::tests::hours();
        hours.heard(at(5), PART);
        hours.end_soon(at(5));
        assert!(!hours.is_over(at(5)));
        hours.heard(at(5), ANSWERED);
        assert!(hours.is_over(at(5)));
    }
}
