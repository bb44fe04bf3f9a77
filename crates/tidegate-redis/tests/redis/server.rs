//! A server of the test's own, behind a socket in a folder of its own, gone when the test is.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tidegate_redis::{Call, CallError, Caller, Clock, Fault, Redis, Settings};
use tokio::runtime::Runtime;

/// A running server and a connection to it.
#[derive(Clone)]
pub(crate) struct Server(Arc<Running>);

struct Running {
    process: Child,
    folder: PathBuf,
    connection: MultiplexedConnection,
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
});
static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Server {
    /// Starts a program that speaks as Redis does.
    pub(crate) fn start(program: &str) -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tidegate-redis-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let socket = folder.join("socket");
        let mut process = Command::new(program)
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(&socket)
            .current_dir(&folder)
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{program} does not start: {error}; run tools/needs"));
        let connection =
            RUNTIME.block_on(connect(&mut process, &format!("redis+unix://{}", socket.display())));
        Self(Arc::new(Running { process, folder, connection }))
    }

    pub(crate) fn redis() -> Self {
        let tools = tool("redis-server");
        Self::start(if std::path::Path::new(&tools).exists() { &tools } else { "redis-server" })
    }

    pub(crate) fn valkey() -> Self {
        Self::start(&valkey_server())
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

/// Where `tools/needs` puts it, or wherever `VALKEY_SERVER` says.
fn valkey_server() -> String {
    std::env::var("VALKEY_SERVER").unwrap_or_else(|_| tool("valkey-server"))
}

fn tool(name: &str) -> String {
    format!("{}/../../target/tools/bin/{name}", env!("CARGO_MANIFEST_DIR"))
}

async fn connect(process: &mut Child, address: &str) -> MultiplexedConnection {
    let client = redis::Client::open(address).unwrap();
    let mut tries = tokio::time::interval(Duration::from_millis(20));
    for _ in 0..500 {
        tries.tick().await;
        assert!(process.try_wait().unwrap().is_none(), "the server ended at once");
        if let Ok(connection) = client.get_multiplexed_async_connection().await {
            return connection;
        }
    }
    panic!("the server does not answer");
}

impl Drop for Running {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        std::fs::remove_dir_all(&self.folder).unwrap();
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
        RUNTIME.spawn(run).await.unwrap().map_err(|error: redis::RedisError| {
            panic!("the script fails: {error}");
            #[expect(unreachable_code, reason = "it says what the closure gives")]
            CallError { shard: "test".into(), fault: Fault::Garbled, may_have_run: true }
        })
    }

    fn are_neighbours(&self, _: &[u8], _: &[u8]) -> bool {
        true
    }
}

impl Server {
    /// Sends a command as it is.
    pub(crate) fn send<T: redis::FromRedisValue + Send + 'static>(&self, command: redis::Cmd) -> T {
        let mut connection = self.0.connection.clone();
        RUNTIME.block_on(async move { command.query_async(&mut connection).await.unwrap() })
    }
}

fn command(name: &str, script: &str, call: &Call) -> redis::Cmd {
    let mut command = redis::cmd(name);
    command.arg(script).arg(call.keys.len());
    for bytes in call.keys.iter().chain(&call.arguments) {
        command.arg(bytes.as_slice());
    }
    command
}
