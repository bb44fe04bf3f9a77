//! What every test needs: a client, calls that count, and patience.

use std::task::Poll;
use std::time::{Duration, Instant};

use redis::Value;
use smallvec::smallvec;
use tidegate_redis::client::{Address, Settings};
use tidegate_redis::{Call, CallError, Caller, Client, Fault};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, MutexGuard};

use crate::scripts::{ALL, EACH, ONE, TWO};

/// Longer than anything takes that goes well, on a machine that is busy.
pub(crate) const LONG: Duration = Duration::from_secs(2);
/// Short enough to wait for in vain a few times.
pub(crate) const SHORT: Duration = Duration::from_millis(30);

/// Lets one test after another go.
pub(crate) async fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

/// A client with a long deadline and all else as by default.
pub(crate) fn client(url: &str) -> Client {
    client_with(url, |_| {})
}

/// A client with a short deadline.
pub(crate) fn hasty(url: &str) -> Client {
    client_with(url, |settings| settings.deadline = SHORT)
}

pub(crate) fn client_with(url: &str, adjust: impl FnOnce(&mut Settings)) -> Client {
    let mut settings = Settings { deadline: LONG, scripts: &ALL, ..Settings::default() };
    adjust(&mut settings);
    let address: Address = url.parse().unwrap_or_else(|error| panic!("{error}"));
    Client::open(address, settings, &Handle::current()).unwrap()
}

/// A client that is connected.
pub(crate) async fn ready(client: Client) -> Client {
    tokio::time::timeout(Duration::from_secs(30), client.ready()).await.expect("servers are there");
    client
}

/// Adds one to a key.
pub(crate) fn one(key: &str) -> Call {
    Call::new(&ONE, smallvec![key.into()], smallvec![])
}

/// Adds one to two keys.
pub(crate) fn two(key: &str, other: &str) -> Call {
    Call::new(&TWO, smallvec![key.into(), other.into()], smallvec![])
}

/// Adds one to a key; can be joined.
pub(crate) fn each(key: &str) -> Call {
    each_by(key, "1")
}

/// Adds so much to a key; can be joined.
pub(crate) fn each_by(key: &str, more: &str) -> Call {
    Call::new(&EACH, smallvec![key.into()], smallvec![more.into()])
}

/// Adds one to a key and gives the count.
pub(crate) async fn count(client: &Client, key: &str) -> Result<i64, CallError> {
    client.call(one(key)).await.map(|value| match value {
        Value::Int(count) => count,
        other => panic!("{other:?} is no count"),
    })
}

/// What comes of a call.
pub(crate) type Outcome = Result<Value, CallError>;

/// Makes all these calls at once.
pub(crate) async fn all(client: &Client, calls: impl Iterator<Item = Call>) -> Vec<Outcome> {
    let mut open: Vec<_> = calls.map(|call| Some(Box::pin(client.call(call)))).collect();
    let mut outcomes: Vec<Option<Outcome>> = open.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (call, outcome) in open.iter_mut().zip(&mut outcomes) {
            if let Some(Poll::Ready(value)) = call.as_mut().map(|call| call.as_mut().poll(context)) {
                (*call, *outcome) = (None, Some(value));
            }
        }
        if outcomes.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outcomes.into_iter().flatten().collect()
}

/// Calls until it goes well; gives how long that took and how many calls before may have run.
pub(crate) async fn recovers(client: &Client, key: &str) -> (Duration, i64) {
    let start = Instant::now();
    let mut perhaps = 0;
    until("calls to go well again", async || match count(client, key).await {
        Ok(_) => Some((start.elapsed(), perhaps)),
        Err(error) => {
            perhaps += i64::from(error.may_have_run);
            None
        }
    })
    .await
}

/// Calls until it goes wrong in the way that is waited for.
pub(crate) async fn fails_with(client: &Client, key: &str, fault: Fault) -> CallError {
    let last = std::cell::RefCell::new(String::new());
    let looking = until_or("", async || {
        let outcome = count(client, key).await;
        *last.borrow_mut() = format!("{outcome:?}");
        outcome.err().filter(|error| error.fault == fault)
    });
    looking.await.unwrap_or_else(|| panic!("never {fault:?}, but {}", last.borrow()))
}

/// Looks again and again until there is something to see.
pub(crate) async fn until<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    until_or(what, look).await.unwrap_or_else(|| panic!("waited in vain for {what}"))
}

async fn until_or<T>(_what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if let Some(seen) = look().await {
            return Some(seen);
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    None
}

/// Runs it, and fails if that takes longer than it may.
pub(crate) async fn at_most<T>(ceiling: Duration, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(ceiling, future).await.unwrap_or_else(|_| panic!("it takes longer than {ceiling:?}"))
}
