//! What a call costs this process, beside the plain client: a measurement, not a proof.
//!
//! `cargo test -p tidegate-redis --test client load -- --ignored --nocapture`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use redis::Cmd;
use tidegate_redis::Caller;
use tidegate_rig::Server;

use crate::scripts::ONE;
use crate::stage::{client, each, one, ready, turn};

const TIME: Duration = Duration::from_secs(3);

/// Processor time of this process in microseconds, in steps of ten thousand.
fn spent_us() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap() * 10_000).sum()
}

/// Runs calls in so many tasks for a while, and says what one cost.
async fn measure<F: Future<Output = ()> + Send>(
    name: &str,
    in_flight: usize,
    call: impl Fn(u64) -> F + Send + Sync + 'static,
) -> String {
    let (call, calls, start, spent) =
        (Arc::new(call), Arc::new(AtomicU64::new(0)), Instant::now(), spent_us());
    let tasks: Vec<_> = (0..in_flight)
        .map(|_| {
            let (call, calls) = (Arc::clone(&call), Arc::clone(&calls));
            tokio::spawn(async move {
                while start.elapsed() < TIME {
                    call(calls.fetch_add(1, Ordering::Relaxed)).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let (calls, spent) = (calls.load(Ordering::Relaxed), spent_us() - spent);
    let rate = calls / u64::try_from(start.elapsed().as_millis()).unwrap() * 1000;
    let (whole, part) = (spent / calls, spent * 100 / calls % 100);
    format!("{name:>8} {in_flight:>4} in flight: {whole}.{part:02} us of our time, {rate}/s")
}

fn key(number: u64) -> String {
    format!("{{load}}key-{}", number % 1000)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "a measurement"]
async fn a_call_costs_little_more_than_with_the_plain_client() {
    let _turn = turn().await;
    let server = Server::start();
    let ours = Arc::new(ready(client(&server.url())).await);
    let theirs = redis::Client::open(server.url()).unwrap().get_multiplexed_async_connection().await.unwrap();
    for in_flight in [1, 16, 128] {
        let connection = theirs.clone();
        let line = measure("theirs", in_flight, move |number| {
            let mut connection = connection.clone();
            async move {
                let mut command = Cmd::new();
                command.arg("EVALSHA").arg(ONE.sha).arg(1).arg(key(number));
                command.query_async::<i64>(&mut connection).await.unwrap();
            }
        });
        println!("{}", line.await);
        let client = Arc::clone(&ours);
        let line = measure("plain", in_flight, move |number| {
            let client = Arc::clone(&client);
            async move { drop(client.call(one(&key(number))).await.unwrap()) }
        });
        println!("{}", line.await);
        let client = Arc::clone(&ours);
        let line = measure("joined", in_flight, move |number| {
            let client = Arc::clone(&client);
            async move { drop(client.call(each(&key(number))).await.unwrap()) }
        });
        println!("{}", line.await);
    }
}
