use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Wake;
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, duplex};
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::advance;

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
    {
        let mut hearing = pin!(between.as_mut().hear(&mut theirs, &mut room));
        assert!(poll_fn(|context| Poll::Ready(hearing.as_mut().poll(context).is_pending())).await);
    }
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
    let (_ours, mut theirs) = duplex(64);
    let ((tell, told), mut room) = (server(), Vec::with_capacity(64));
    let mut between = pin!(Between::new(told, Instant::now() + MINUTE));
    assert!(!between.as_mut().hears_of_going().await);
    tell.send(()).unwrap();
    assert!(between.as_mut().hears_of_going().await);
    assert!(!between.as_mut().hears_of_going().await, "once");
    assert!(matches!(between.as_mut().hear(&mut theirs, &mut room).await, Event::Alarm));
}

/// Remembers that it was woken.
#[derive(Default)]
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_now_is_woken_and_not_who_waited_before() {
    let (_ours, mut theirs) = duplex(64);
    let mut room = Vec::with_capacity(64);
    let mut between = pin!(Between::new(std::future::pending(), Instant::now() + MINUTE));
    let bells: [Arc<Bell>; 2] = Default::default();
    for bell in &bells {
        let waker = Waker::from(Arc::clone(bell));
        let hearing = pin!(between.as_mut().hear(&mut theirs, &mut room));
        assert!(hearing.poll(&mut Context::from_waker(&waker)).is_pending());
    }
    advance(MINUTE).await;
    yield_now().await;
    assert_eq!(bells.map(|bell| bell.0.load(SeqCst)), [false, true]);
}
