//! The open loop: checks are due at a steady rate, whether or not earlier ones are answered, and take from when they were due.

use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::super::talk::Talker;
use super::{Crowd, Times};

/// How often it is looked for checks that are due. The timers of the runtime are of a millisecond, and would bunch them.
const TICK: Duration = Duration::from_micros(50);

impl<T: Talker> Crowd<T> {
    /// Asks so many times a second. A check that finds nobody free to ask it waits, and that is in its time.
    pub(in crate::doors) async fn pace(&mut self, checks: Range<usize>, per_second: f64) -> Result<Times> {
        let (ticks, start) = (ticks()?, Instant::now());
        let (back, mut returned) = unbounded_channel();
        let mut pacing = Pacing { idle: std::mem::take(&mut self.talkers), waiting: VecDeque::new(), back };
        let (mut times, mut next, count) = (Times::default(), checks.start, checks.len());
        while times.each.len() < count {
            tokio::select! {
                ticked = ticks.readable() => {
                    let mut ticked = ticked?;
                    // How often it has ticked does not matter: the clock says what is due.
                    rustix::io::read(ticks.get_ref(), &mut [0; 8])?;
                    ticked.clear_ready();
                    while next < checks.end {
                        let due = start + Duration::from_secs_f64((next - checks.start) as f64 / per_second);
                        if due > Instant::now() {
                            break;
                        }
                        pacing.waiting.push_back((next, due));
                        next += 1;
                    }
                }
                done = returned.recv() => {
                    let (talker, taken): Done<T> = done.context("somebody gives back")?;
                    let (due, late, taken) = taken?;
                    times.due.push(due - start);
                    times.late.push(late);
                    times.each.push(taken);
                    pacing.idle.push(talker);
                }
            }
            pacing.start();
        }
        self.talkers = pacing.idle;
        times.whole = start.elapsed();
        Ok(times)
    }
}

struct Pacing<T> {
    idle: Vec<T>,
    /// Checks that are due, and since when.
    waiting: VecDeque<(usize, Instant)>,
    back: UnboundedSender<Done<T>>,
}

/// Who has asked; when it was due, how late that was begun, and how late it was answered.
type Done<T> = (T, Result<(Instant, Duration, Duration)>);

impl<T: Talker> Pacing<T> {
    /// Lets those who are free ask what is due.
    fn start(&mut self) {
        while !self.waiting.is_empty() {
            let Some(mut talker) = self.idle.pop() else { return };
            let Some((check, due)) = self.waiting.pop_front() else { return };
            let back = self.back.clone();
            tokio::spawn(async move {
                let late = due.elapsed();
                let asked = talker.ask(check..check + 1).await.map(|()| (due, late, due.elapsed()));
                // Nobody waits for it any more if another has failed.
                drop(back.send((talker, asked)));
            });
        }
    }
}

/// Ticks that a task can wait for.
#[expect(unsafe_code, reason = "a descriptor cannot be waited for without")]
fn ticks() -> Result<AsyncFd<OwnedFd>> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
    let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: tick, it_value: tick })?;
    // SAFETY: an owned descriptor is the same one, and open, for as long as it lives.
    Ok(unsafe { AsyncFd::register(timer) }?)
}
