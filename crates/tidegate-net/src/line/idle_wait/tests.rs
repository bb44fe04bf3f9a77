use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, duplex};
use tokio::sync::oneshot;
use tokio::task::yield_now;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

/// A server, and the sender that makes it drain.
fn server() -> (oneshot::Sender<()>, impl Future<Output = ()>) {
    let (drain, draining) = oneshot::channel();
    (drain, async { drop(draining.await) })
}

/// Waits for an event while something else happens.
async fn meanwhile<T>(event: impl Future<Output = IdleEvent>, other: impl Future<Output = T>) -> IdleEvent {
    // The wait is polled first, and finds nothing.
    tokio::join!(biased; event, other).0
}

#[tokio::test(start_paused = true)]
async fn reports_every_kind_of_event() {
    let (mut ours, mut theirs) = duplex(64);
    let ((drain, draining), start) = (server(), Instant::now());
    let (mut wait, mut buffer) = (pin!(IdleWait::new(draining, start + MINUTE)), Vec::with_capacity(64));
    for _ in 0..3 {
        let event = meanwhile(wait.as_mut().next_event(&mut theirs, &mut buffer), ours.write_all(b"abc"));
        assert!(matches!(event.await, IdleEvent::Read(Ok(3))));
    }
    assert_eq!(buffer, b"abcabcabc");
    let event = meanwhile(wait.as_mut().next_event(&mut theirs, &mut buffer), async { drain.send(()) });
    assert!(matches!(event.await, IdleEvent::Draining));
    let event = meanwhile(wait.as_mut().next_event(&mut theirs, &mut buffer), ours.write_all(b"abc"));
    assert!(matches!(event.await, IdleEvent::Read(Ok(3))), "draining is reported once");
    assert!(matches!(wait.as_mut().next_event(&mut theirs, &mut buffer).await, IdleEvent::Timer));
    assert_eq!(start.elapsed(), MINUTE);
}

#[tokio::test(start_paused = true)]
async fn the_timer_only_moves_earlier() {
    let (_ours, mut theirs) = duplex(64);
    let (start, mut buffer) = (Instant::now(), Vec::with_capacity(64));
    let mut wait = pin!(IdleWait::new(std::future::pending(), start + MINUTE));
    assert!(is_pending(wait.as_mut().next_event(&mut theirs, &mut buffer)).await);
    for (at, fires) in [(2 * MINUTE, MINUTE), (3 * MINUTE, 3 * MINUTE)] {
        wait.as_mut().wake_at(start + at);
        assert!(matches!(wait.as_mut().next_event(&mut theirs, &mut buffer).await, IdleEvent::Timer));
        assert_eq!(start.elapsed(), fires);
    }
    wait.as_mut().wake_at(start + 5 * MINUTE);
    wait.as_mut().wake_at(start + 4 * MINUTE);
    assert!(matches!(wait.as_mut().next_event(&mut theirs, &mut buffer).await, IdleEvent::Timer));
    assert_eq!(start.elapsed(), 4 * MINUTE);
}

#[tokio::test(start_paused = true)]
async fn busy_connections_can_ask_for_draining() {
    let (mut ours, mut theirs) = duplex(64);
    let ((drain, draining), mut buffer) = (server(), Vec::with_capacity(64));
    let mut wait = pin!(IdleWait::new(draining, Instant::now() + MINUTE));
    ours.write_all(b"abc").await.unwrap();
    assert!(matches!(wait.as_mut().next_event(&mut theirs, &mut buffer).await, IdleEvent::Read(Ok(3))));
    assert!(!wait.as_mut().is_draining_now().await);
    drain.send(()).unwrap();
    assert!(wait.as_mut().is_draining_now().await);
    assert!(!wait.as_mut().is_draining_now().await, "once");
    assert!(matches!(wait.as_mut().next_event(&mut theirs, &mut buffer).await, IdleEvent::Timer));
}

/// Polls a future once.
async fn is_pending(future: impl Future) -> bool {
    let mut future = pin!(future);
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

#[tokio::test(start_paused = true)]
async fn draining_is_remembered_during_other_waits() {
    for with_bytes in [true, false] {
        let (mut ours, mut theirs) = duplex(64);
        let ((drain, draining), mut buffer) = (server(), Vec::with_capacity(64));
        let mut wait = pin!(IdleWait::new(draining, Instant::now() + MINUTE));
        assert!(is_pending(wait.as_mut().next_event(&mut theirs, &mut buffer)).await);
        drain.send(()).unwrap();
        if with_bytes {
            ours.write_all(b"abc").await.unwrap();
            let event = wait.as_mut().next_event(&mut theirs, &mut buffer).await;
            assert!(matches!(event, IdleEvent::Read(Ok(3))));
        }
        yield_now().await;
        let event = wait.as_mut().next_event(&mut theirs, &mut buffer).await;
        assert!(matches!(event, IdleEvent::Draining), "{event:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_timer_fires_after_a_busy_time() {
    // More than tokio's cooperative budget of a task.
    const READS: usize = 1_000;
    let (mut ours, mut theirs) = duplex(READS);
    ours.write_all(&[b'x'; READS]).await.unwrap();
    let start = Instant::now();
    let mut wait = pin!(IdleWait::new(std::future::pending(), start + MINUTE));
    let turns = Arc::new(AtomicU32::new(0));
    let others = Arc::clone(&turns);
    let spinning = tokio::spawn(async move {
        loop {
            others.fetch_add(1, Relaxed);
            yield_now().await;
        }
    });
    for _ in 0..READS {
        let mut buffer = Vec::with_capacity(1);
        assert!(matches!(wait.as_mut().next_event(&mut theirs, &mut buffer).await, IdleEvent::Read(Ok(1))));
    }
    spinning.abort();
    let turns = turns.load(Relaxed) as usize;
    assert!(turns >= READS / (MAX_READS_IN_A_ROW as usize + 1), "others had {turns} turns");
    let event = wait.as_mut().next_event(&mut theirs, &mut Vec::with_capacity(1)).await;
    assert!(matches!(event, IdleEvent::Timer), "{event:?}");
    assert_eq!(start.elapsed(), MINUTE);
}
