//! A server of the test's own and a connection to it, gone when the test is.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

use redis::aio::MultiplexedConnection;
use tidegate_redis::{Call, CallError, Caller, Clock, Fault, Redis, Settings};
use tidegate_rig::{Flavour, Options};
use tokio::runtime::Runtime;

/// A running server and a connection to it.
#[derive(Clone)]
pub(crate) struct Server(Arc<Running>);

struct Running {
    _server: tidegate_rig::Server,
    connection: MultiplexedConnection,
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
});
static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Server {
    pub(crate) fn redis() -> Self {
        Self::start(Flavour::Redis)
    }

    pub(crate) fn valkey() -> Self {
        Self::start(Flavour::Valkey)
    }

    fn start(flavour: Flavour) -> Self {
        let server = tidegate_rig::Server::with(&Options { flavour, ..Options::default() });
        let client = redis::Client::open(server.url()).unwrap();
        let connection = RUNTIME.block_on(client.get_multiplexed_async_connection()).unwrap();
        Self(Arc::new(Running { _server: server, connection }))
    }

    /// A store with keys of its own.
    pub(crate) fn store(&self) -> Redis<Self> {
        self.two_nodes().0
    }

    /// A prefix that nobody else has.
    pub(crate) fn prefix() -> String {
        format!("{}:", NUMBER.fetch_add(1, Ordering::Relaxed))
    }

    /// Two nodes with the same keys.
    pub(crate) fn two_nodes(&self) -> (Redis<Self>, Redis<Self>) {
        let settings = Settings { prefix: Self::prefix(), clock: Clock::Given, ..Settings::default() };
        (Redis::new(self.clone(), &settings), Redis::new(self.clone(), &settings))
    }
}

/// Waits for what is asked.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.block_on(future)
}

/// Waits for what is asked on this thread, outside of any runtime: nothing goes on meanwhile.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let waker = std::task::Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Caller for Server {
    async fn call(&self, call: Call) -> Result<redis::Value, CallError> {
        let mut connection = self.0.connection.clone();
        let run = async move {
            match command("EVALSHA", call.script.sha, &call).query_async(&mut connection).await {
                Err(error) if error.code() == Some("NOSCRIPT") => {
                    command("EVAL", call.script.text, &call).query_async(&mut connection).await
                }
                other => other,
            }
        };
        RUNTIME.spawn(run).await.unwrap().map_err(|error| refused(&error))
    }

    fn are_neighbours(&self, _: &[u8], _: &[u8]) -> bool {
        true
    }
}

/// All values and their ends, by their keys.
const WRITTEN: &str = "local keys, all = redis.call('KEYS', ARGV[1]), {} table.sort(keys) for _, key in ipairs(keys) do \
    all[#all + 1] = { key, redis.call('GET', key), redis.call('PEXPIRETIME', key) } end return all";

impl Server {
    /// Everything that is written under keys with that prefix: keys, values and ends.
    pub(crate) fn written(&self, prefix: &str) -> Vec<(String, Vec<u8>, i64)> {
        self.send(redis::cmd("EVAL").arg(WRITTEN).arg(0).arg(format!("{prefix}*")).take())
    }

    /// Sends a command as it is.
    pub(crate) fn send<T: redis::FromRedisValue + Send + 'static>(&self, command: redis::Cmd) -> T {
        let mut connection = self.0.connection.clone();
        RUNTIME.block_on(async move { command.query_async(&mut connection).await.unwrap() })
    }
}

/// A script that fails has a flaw; a server without memory has none.
fn refused(error: &redis::RedisError) -> CallError {
    assert_eq!(error.code(), Some("OOM"), "the script fails: {error}");
    CallError { shard: "test".into(), fault: Fault::Refused("OOM"), may_have_run: false }
}

fn command(name: &str, script: &str, call: &Call) -> redis::Cmd {
    let mut command = redis::cmd(name);
    command.arg(script).arg(call.keys.len());
    for bytes in call.keys.iter().chain(&call.arguments) {
        command.arg(bytes.as_slice());
    }
    command
}
