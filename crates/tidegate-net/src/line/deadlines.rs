//! When a connection closes: when it is old, when no command has come for too long, when a command
//! does not complete, and soon after the server begins to drain. Time is an argument.

use std::time::Duration;

use tokio::time::Instant;

use crate::{CLOSE_GRACE, ConnectionLimits};

/// The deadlines of one connection.
#[derive(Debug)]
pub struct ConnectionDeadlines {
    idle_timeout: Duration,
    request_timeout: Duration,
    /// When the connection is old.
    old_at: Instant,
    /// When it closes unless it makes progress.
    quiet_at: Instant,
    /// Whether a part of a command has arrived.
    has_partial: bool,
    /// Whether it closes as soon as no partial command is left.
    is_closing: bool,
}

/// What bytes have led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Whether a command was answered.
    pub answered: bool,
    /// Whether a part of another one has arrived.
    pub partial: bool,
}

impl ConnectionDeadlines {
    /// Those of a connection that opens now.
    pub fn new(limits: &ConnectionLimits, now: Instant) -> Self {
        Self {
            idle_timeout: limits.idle_timeout,
            request_timeout: limits.request_timeout,
            old_at: now + limits.jittered_age(),
            quiet_at: now + limits.idle_timeout,
            has_partial: false,
            is_closing: false,
        }
    }

    /// Notes that bytes have arrived. Invariants: a command has its timeout as a whole, not for each of
    /// its bytes; bytes that are no command extend nothing; a closing connection gets no more time.
    pub fn on_progress(&mut self, now: Instant, Progress { answered, partial }: Progress) {
        let begins = partial && (answered || !self.has_partial);
        self.has_partial = partial;
        match (begins, answered) {
            _ if self.is_closing => {}
            (true, _) => self.quiet_at = now + self.request_timeout,
            (false, true) => self.quiet_at = now + self.idle_timeout,
            (false, false) => {}
        }
    }

    /// Closes soon, whatever arrives.
    pub fn close_soon(&mut self, now: Instant) {
        if !self.is_closing {
            self.is_closing = true;
            self.quiet_at = self.quiet_at.min(now + CLOSE_GRACE);
        }
    }

    /// Whether the connection is to close now.
    pub fn is_over(&mut self, now: Instant) -> bool {
        if now >= self.old_at {
            self.close_soon(now);
        }
        (self.is_closing && !self.has_partial) || now >= self.quiet_at
    }

    /// When to ask again if nothing arrives before.
    pub fn next_check(&self) -> Instant {
        if self.is_closing { self.quiet_at } else { self.quiet_at.min(self.old_at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const ANSWERED: Progress = Progress { answered: true, partial: false };
    const PARTIAL: Progress = Progress { answered: false, partial: true };
    const BOTH: Progress = Progress { answered: true, partial: true };

    /// A new connection: idle after 60 s, a command within 10 s, old after an hour or so.
    fn deadlines() -> (ConnectionDeadlines, impl Fn(u32) -> Instant) {
        let begin = Instant::now();
        let limits = ConnectionLimits {
            idle_timeout: 60 * SECOND,
            request_timeout: 10 * SECOND,
            connection_age: 3600 * SECOND,
            ..ConnectionLimits::default()
        };
        (ConnectionDeadlines::new(&limits, begin), move |seconds| begin + seconds * SECOND)
    }

    #[test]
    fn closes_when_idle() {
        let (mut connection, at) = deadlines();
        connection.on_progress(at(50), ANSWERED);
        assert!(!connection.is_over(at(109)));
        assert_eq!(connection.next_check(), at(110));
        assert!(connection.is_over(at(110)));
    }

    #[test]
    fn empty_commands_extend_nothing() {
        let (mut connection, at) = deadlines();
        connection.on_progress(at(59), Progress { answered: false, partial: false });
        assert!(connection.is_over(at(60)));
    }

    #[test]
    fn slow_commands_have_one_timeout() {
        let (mut connection, at) = deadlines();
        for second in 1..10 {
            connection.on_progress(at(second), PARTIAL);
            assert!(!connection.is_over(at(second)));
        }
        assert!(connection.is_over(at(11)));
        let (mut connection, at) = deadlines();
        connection.on_progress(at(1), PARTIAL);
        connection.on_progress(at(9), BOTH);
        assert!(!connection.is_over(at(18)), "it is another command");
        assert!(connection.is_over(at(19)));
    }

    #[test]
    fn old_connections_close_between_commands() {
        let (mut connection, at) = deadlines();
        connection.on_progress(at(4000), ANSWERED);
        assert!(connection.is_over(at(4000)), "however busy");
        let (mut connection, at) = deadlines();
        connection.on_progress(at(4000), PARTIAL);
        assert!(!connection.is_over(at(4000)));
        assert_eq!(connection.next_check(), at(4000) + CLOSE_GRACE);
        connection.on_progress(at(4000), BOTH);
        assert!(connection.is_over(at(4000) + CLOSE_GRACE), "there is always another one");
    }

    #[test]
    fn draining_lets_a_partial_command_finish() {
        let (mut connection, at) = deadlines();
        connection.close_soon(at(5));
        assert!(connection.is_over(at(5)));
        let (mut connection, at) = deadlines();
        connection.on_progress(at(5), PARTIAL);
        connection.close_soon(at(5));
        assert!(!connection.is_over(at(5)));
        connection.on_progress(at(5), ANSWERED);
        assert!(connection.is_over(at(5)));
    }
}
