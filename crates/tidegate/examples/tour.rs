//! The library at work, in virtual time: `make run`, or `cargo run -p tidegate --example tour`.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use tidegate::{Decision, Error, Hold, Limit, Limiter, ManualClock, Rate, Rule, Settled};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A limiter whose clock is moved by hand, and how far it has been moved.
struct Tour {
    clock: ManualClock,
    limiter: Limiter<ManualClock>,
    passed: Duration,
    text: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = ManualClock::new();
    let mut tour = Tour {
        limiter: Limiter::with_clock(clock.clone()),
        clock,
        passed: Duration::ZERO,
        text: String::new(),
    };
    tour.one_limit()?;
    tour.two_limits()?;
    tour.slots()?;
    tour.an_estimate()?;
    match std::io::stdout().write_all(tour.text.as_bytes()) {
        // Whoever reads may stop early, as `head` does.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

impl Tour {
    /// A burst, a refusal, and the earliest instant at which it passes after all.
    fn one_limit(&mut self) -> Result<(), Error> {
        self.title("One limit: 2 per second with a burst of 3, for alice");
        let rule = Rule::new("per-user", Limit::gcra(Rate::new(2, SECOND)?, 3)?)?;
        for wait_ms in [0, 0, 0, 0, 499, 1, 1500] {
            self.wait(wait_ms);
            let decision = self.limiter.check(&rule, "alice")?;
            self.row("alice", &decision);
        }
        Ok(())
    }

    /// All or nothing: what the second limit refuses is not charged to the first.
    fn two_limits(&mut self) -> Result<(), Error> {
        self.title("Two limits at once: 3 a minute for each user, 4 a minute for everyone");
        let each = Rule::new("each", Limit::sliding_log(3, MINUTE)?)?;
        let everyone = Rule::new("everyone", Limit::sliding_log(4, MINUTE)?)?;
        for user in ["alice", "bob", "bob", "bob", "bob", "alice"] {
            let decision = self.limiter.check_all(&[each.on(user), everyone.on("")])?;
            self.row(user, &decision);
            self.wait(1000);
        }
        let left = self.limiter.peek(&each, "alice")?.remaining();
        self.say(&format!("  alice still has {left} of 3: her refused request was charged nowhere"));
        Ok(())
    }

    /// Concurrency: a slot comes back when its guard is dropped.
    fn slots(&mut self) -> Result<(), Error> {
        self.title("Concurrency: 2 at once");
        let room = Rule::new("room", Limit::concurrency(2, MINUTE)?)?;
        let mut inside = Vec::new();
        for caller in ["first", "second", "third"] {
            let admission = self.limiter.enter(&[room.on("")])?;
            self.row(caller, admission.decision());
            inside.extend(admission.admitted());
        }
        drop(inside.remove(0));
        self.say("  the first one leaves");
        let admission = self.limiter.enter(&[room.on("")])?;
        self.row("third", admission.decision());
        Ok(())
    }

    /// Reserve an estimate, commit the truth.
    fn an_estimate(&mut self) -> Result<(), Error> {
        self.title("Reserve and commit: 1000 tokens a minute");
        let tokens = Rule::new("tokens", Limit::sliding_window(1000, MINUTE)?)?;
        let hold = Hold::lasting(SECOND * 30);
        for (estimate, truth) in [(400, 150), (800, 900)] {
            let admission = self.limiter.reserve(&[tokens.on("alice").cost(estimate)], hold)?;
            self.row(&format!("reserve {estimate}"), admission.decision());
            if let Some(Settled::Done { debt }) =
                admission.admitted().map(|held| held.commit(truth)).transpose()?
            {
                let left = self.limiter.peek(&tokens, "alice")?.remaining();
                self.say(&format!("  it took {truth}: {left} left, {debt} past the limit"));
            }
        }
        Ok(())
    }

    fn wait(&mut self, ms: u64) {
        let span = Duration::from_millis(ms);
        self.clock.advance(span);
        self.passed += span;
    }

    fn row(&mut self, who: &str, decision: &Decision<'_>) {
        let retry = match decision.retry_after() {
            Some(wait) => format!("{:.3} s", wait.as_secs_f64()),
            None => "-".to_owned(),
        };
        let word = if decision.allowed() { "allowed" } else { "refused" };
        let denied_by = match decision.denied_by().collect::<Vec<_>>().join(", ") {
            nobody if nobody.is_empty() => "-".to_owned(),
            rules => rules,
        };
        let (at, remaining) = (self.passed.as_secs_f64(), decision.remaining());
        self.say(&format!("{at:>8.3} s  {who:<12} {word:<8} {remaining:>9}  {retry:>11}  {denied_by}"));
    }

    fn title(&mut self, text: &str) {
        self.say(&format!("\n{text}"));
        let [time, request, decision, remaining] = ["time", "request", "decision", "remaining"];
        self.say(&format!(
            "{time:>10}  {request:<12} {decision:<8} {remaining:>9}  {:>11}  denied by",
            "retry after"
        ));
    }

    fn say(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}
