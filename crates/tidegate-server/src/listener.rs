//! A door's listener: it accepts connections up to a bound and sees them to their end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use tidegate_frontend::door::Room;
use tidegate_wire::trust::Peer;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_rustls::server::TlsStream;

use crate::config::Limits;
use crate::connection::{PATIENCE, Shortcut};
use crate::cores::{Cores, Seat};
use crate::error::Error;
use crate::guarded::guarded;
use crate::tls::{self, Inside, Tls};

/// How long to wait when the system has no room for another connection.
const NO_ROOM: Duration = Duration::from_millis(100);

/// What is served at an address.
pub(crate) trait Serves: Send + Sync + 'static {
    /// Its name in logs and metrics.
    fn name(&self) -> &'static str;

    /// Its bounds.
    fn limits(&self) -> &Limits;

    /// What is counted.
    fn counts(&self) -> &Counts;

    /// What encrypts it and what is spoken inside, if it is encrypted.
    fn tls(&self) -> Option<(&Tls, Inside)>;

    /// Sees a connection, and from where it came, to its end.
    fn drive<S: Wire>(
        self: Arc<Self>,
        connected: (S, Peer),
        phase: watch::Receiver<Phase>,
    ) -> impl Future<Output = ()> + Send;
}

/// What a connection's bytes come and go over, plain or encrypted.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Writes what goes out at once, without anybody who would be told later; how much that was.
    fn write_now(&self, bytes: &[u8]) -> usize {
        let _ = bytes;
        0
    }
}

impl Wire for TcpStream {
    fn write_now(&self, bytes: &[u8]) -> usize {
        // What is wrong is wrong when it is tried again, and said then.
        self.try_write(bytes).unwrap_or(0)
    }
}

impl Wire for TlsStream<TcpStream> {}

/// Sends all of it, in that time; `None` if that is not possible.
pub(crate) async fn send(stream: &mut impl Wire, bytes: &[u8], within: Duration) -> Option<()> {
    let rest = &bytes[stream.write_now(bytes)..];
    if rest.is_empty() {
        return Some(());
    }
    let sending = async {
        stream.write_all(rest).await?;
        stream.flush().await
    };
    guarded(within, sending).await.ok()?.ok()
}

#[cfg(test)]
impl Wire for tokio::io::DuplexStream {}

/// A door that speaks HTTP, and what it answers.
pub(crate) struct Door {
    /// Its name in logs and metrics.
    pub(crate) name: &'static str,
    /// Whether it speaks HTTP/2 only.
    pub(crate) http2_only: bool,
    /// Whether requests say from where they came.
    pub(crate) tells_peers: bool,
    /// What encrypts it, if it is.
    pub(crate) tls: Option<Arc<Tls>>,
    /// What answers what most callers ask.
    pub(crate) shortcut: Option<Shortcut>,
    /// What answers all else.
    pub(crate) app: Router,
    /// Whether the answers at a path go on until somebody has enough of them.
    pub(crate) goes_on: fn(&str) -> bool,
    /// The answer to a request that took too long.
    pub(crate) late: fn() -> Response,
    /// The answer to a request that broke something.
    pub(crate) broken: fn() -> Response,
    /// The answer to a request that is too long while others are, or whose own answer is.
    pub(crate) busy: fn() -> Response,
    /// Room for what is long.
    pub(crate) room: Room,
    /// Its bounds.
    pub(crate) limits: Limits,
    /// What is counted.
    pub(crate) counts: Arc<Counts>,
}

/// What is counted of a door's connections.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) open: AtomicU64,
    pub(crate) accepted: AtomicU64,
    pub(crate) refused: AtomicU64,
    /// Encrypted connections that came to nothing: who did not show a certificate that counts, or does not believe ours.
    pub(crate) handshakes: AtomicU64,
    /// Tokens and passwords that were wrong, or missing.
    pub(crate) strangers: AtomicU64,
    pub(crate) panics: AtomicU64,
}

/// Counts an open connection for as long as it is.
pub(crate) struct Open<'c>(&'c Counts);

impl Counts {
    pub(crate) fn open(&self) -> Open<'_> {
        self.open.fetch_add(1, Relaxed);
        Open(self)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
    }
}

/// How far a server has come in stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It is not.
    Serving,
    /// No new connections; those that are open end after the requests under way.
    Draining,
    /// Nothing goes on.
    Stopped,
}

/// Waits until a phase has come. If nobody can tell any more, it has.
pub(crate) async fn reached(phase: &mut watch::Receiver<Phase>, expected: Phase) {
    drop(phase.wait_for(|phase| *phase >= expected).await);
}

/// Takes the address; where it really is.
pub(crate) async fn bind(
    door: &'static str,
    address: SocketAddr,
) -> Result<(TcpListener, SocketAddr), Error> {
    let failed = |source| Error::Listen { door, address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Serves until the phase is over and every connection has ended.
pub(crate) async fn serve<D: Serves>(
    listener: TcpListener,
    door: D,
    cores: Arc<Cores>,
    mut phase: watch::Receiver<Phase>,
) {
    let door = Arc::new(door);
    let mut connections = JoinSet::new();
    let mut stopping = phase.clone();
    loop {
        tokio::select! {
            () = reached(&mut stopping, Phase::Draining) => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => admit(stream, (&door, &cores), &mut connections, &phase),
                Err(error) => {
                    tracing::warn!(door = %door.name(), %error, "accept");
                    sleep(NO_ROOM).await;
                }
            },
        }
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    tokio::select! {
        () = reached(&mut phase, Phase::Stopped) => {}
        () = ended => {}
    }
}

/// Serves a connection on the core that it was given to.
async fn serve_one<D: Serves>(
    stream: TcpStream,
    door: &Arc<D>,
    seat: &Seat,
    phase: watch::Receiver<Phase>,
) -> io::Result<()> {
    let peer = stream.peer_addr()?;
    // From here on its core hears of it.
    let stream = TcpStream::from_std(stream.into_std()?)?;
    let Some((encrypted, inside)) = door.tls() else {
        Arc::clone(door).drive((stream, Peer::at(peer)), phase).await;
        return Ok(());
    };
    // It is three times as large, and plain connections should not have to keep room for it.
    Box::pin(async {
        let mut stopping = phase.clone();
        let accepted = tokio::select! {
            accepted = encrypted.accept(stream, inside, seat) => accepted,
            // Nobody who says nothing holds up a stop.
            () = async { reached(&mut stopping, Phase::Draining).await; sleep(PATIENCE).await } => return Ok(()),
        };
        let stream = accepted.inspect_err(|_| {
            door.counts().handshakes.fetch_add(1, Relaxed);
        })?;
        let peer = Peer::showing(peer, tls::shown(&stream));
        Arc::clone(door).drive((stream, peer), phase).await;
        Ok(())
    })
    .await
}

/// Serves a connection if there is room for it; otherwise it is closed at once, which is better than letting it wait.
fn admit<D: Serves>(
    stream: TcpStream,
    (door, cores): (&Arc<D>, &Cores),
    connections: &mut JoinSet<()>,
    phase: &watch::Receiver<Phase>,
) {
    if connections.len() >= door.limits().connections {
        door.counts().refused.fetch_add(1, Relaxed);
        return;
    }
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(door = %door.name(), %error, "nodelay");
    }
    door.counts().accepted.fetch_add(1, Relaxed);
    let (door, phase, seat) = (Arc::clone(door), phase.clone(), cores.seat());
    let core = seat.handle();
    let serving = async move {
        if let Err(error) = serve_one(stream, &door, &seat, phase).await {
            tracing::debug!(door = %door.name(), %error, "connection");
        }
    };
    connections.spawn_on(serving, &core);
}
