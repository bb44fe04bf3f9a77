use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, duplex};
use tokio::sync::oneshot;
use tokio::task::yield_now;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

/// A server that goes away when it is told to.
fn server() -> (oneshot::Sender<()>, impl Future<Output = ()>) {
    let (tell, told) = oneshot::channel();
    (tell, async { drop(told.await) })
}

/// Waits at both ends: for what is heard here, and for what goes on there meanwhile.
async fn meanwhile<T>(hearing: impl Future<Output = Event>, other: impl Future<Output = T>) -> Event {
    // Who waits is asked first, and finds nothing.
    tokio::join!(biased; hearing, other).0
}

#[tokio::test(start_paused = true)]
async fn whatever_comes_is_heard_however_many_bytes_came_before() {
    let (mut ours, mut theirs) = duplex(64);
    let ((tell, told), start) = (server(), Instant::now());
    let (mut between, mut room) = (pin!(Between::new(told, start + MINUTE)), Vec::with_capacity(64));
    for _ in 0..3 {
        let heard = meanwhile(between.as_mut().hear(&mut theirs, &mut room), ours.write_all(b"abc"));
        assert!(matches!(heard.await, Event::Bytes(Ok(3))));
    }
    assert_eq!(room, b"abcabcabc");
    let heard = meanwhile(between.as_mut().hear(&mut theirs, &mut room), async { tell.send(()) });
    assert!(matches!(heard.await, Event::Going));
    let heard = meanwhile(between.as_mut().hear(&mut theirs, &mut room), ours.write_all(b"abc"));
    assert!(matches!(heard.await, Event::Bytes(Ok(3))), "it is heard once");
    assert!(matches!(between.as_mut().hear(&mut theirs, &mut room).await, Event::Alarm));
    assert_eq!(start.elapsed(), MINUTE);
}

#[tokio::test(start_paused = true)]
async fn an_alarm_may_be_set_earlier_but_not_later() {
    let (_ours, mut theirs) = duplex(64);
    let (start, mut room) = (Instant::now(), Vec::with_capacity(64));
    let mut between = pin!(Between::new(std::future::pending(), start + MINUTE));
    assert!(is_pending(between.as_mut().hear(&mut theirs, &mut room)).await);
    for (at, rings) in [(2 * MINUTE, MINUTE), (3 * MINUTE, 3 * MINUTE)] {
        between.as_mut().look_at(start + at);
        assert!(matches!(between.as_mut().hear(&mut theirs, &mut room).await, Event::Alarm));
        assert_eq!(start.elapsed(), rings);
    }
    between.as_mut().look_at(start + 5 * MINUTE);
    between.as_mut().look_at(start + 4 * MINUTE);
    assert!(matches!(between.as_mut().hear(&mut theirs, &mut room).await, Event::Alarm));
    assert_eq!(start.elapsed(), 4 * MINUTE);
}

#[tokio::test(start_paused = true)]
async fn whoever_never_pauses_can_ask() {
    let (mut ours, mut theirs) = duplex(64);
    let ((tell, told), mut room) = (server(), Vec::with_capacity(64));
    let mut between = pin!(Between::new(told, Instant::now() + MINUTE));
    ours.write_all(b"abc").await.unwrap();
    assert!(matches!(between.as_mut().hear(&mut theirs, &mut room).await, Event::Bytes(Ok(3))));
    assert!(!between.as_mut().hears_of_going().await);
    tell.send(()).unwrap();
    assert!(between.as_mut().hears_of_going().await);
    assert!(!between.as_mut().hears_of_going().await, "once");
    assert!(matches!(between.as_mut().hear(&mut theirs, &mut room).await, Event::Alarm));
}

/// What is asked once, and not waited for.
async fn is_pending(asked: impl Future) -> bool {
    let mut asked = pin!(asked);
    poll_fn(|context| Poll::Ready(asked.as_mut().poll(context).is_pending())).await
}

#[tokio::test(start_paused = true)]
async fn that_the_server_goes_is_heard_though_it_woke_who_had_bytes_or_waited_for_something_else() {
    for with_bytes in [true, false] {
        let (mut ours, mut theirs) = duplex(64);
        let ((tell, told), mut room) = (server(), Vec::with_capacity(64));
        let mut between = pin!(Between::new(told, Instant::now() + MINUTE));
        assert!(is_pending(between.as_mut().hear(&mut theirs, &mut room)).await);
        tell.send(()).unwrap();
        if with_bytes {
            ours.write_all(b"abc").await.unwrap();
            let heard = between.as_mut().hear(&mut theirs, &mut room).await;
            assert!(matches!(heard, Event::Bytes(Ok(3))));
        }
        yield_now().await;
        let heard = between.as_mut().hear(&mut theirs, &mut room).await;
        assert!(matches!(heard, Event::Going), "{heard:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_never_paused_and_then_falls_silent_is_not_forgotten() {
    // More than a task may do before it has to let others run.
    const READS: usize = 1_000;
    let (mut ours, mut theirs) = duplex(READS);
    ours.write_all(&[b'x'; READS]).await.unwrap();
    let start = Instant::now();
    let mut between = pin!(Between::new(std::future::pending(), start + MINUTE));
    let turns = Arc::new(AtomicU32::new(0));
    let others = Arc::clone(&turns);
    let spinning = tokio::spawn(async move {
        loop {
            others.fetch_add(1, Relaxed);
            yield_now().await;
        }
    });
    for _ in 0..READS {
        let mut room = Vec::with_capacity(1);
        assert!(matches!(between.as_mut().hear(&mut theirs, &mut room).await, Event::Bytes(Ok(1))));
    }
    spinning.abort();
    let turns = turns.load(Relaxed) as usize;
    assert!(turns >= READS / (MOST_IN_A_ROW as usize + 1), "others had {turns} turns");
    let heard = between.as_mut().hear(&mut theirs, &mut Vec::with_capacity(1)).await;
    assert!(matches!(heard, Event::Alarm), "{heard:?}");
    assert_eq!(start.elapsed(), MINUTE);
}
