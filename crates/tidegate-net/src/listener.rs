//! A listener accepts connections up to a bound and sees each one to its end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::cores::{CoreSlot, Cores};
use crate::tls::{self, Alpn, TlsContext};
use crate::{ByteStream, CLOSE_GRACE, ConnectionCounts, ConnectionLimits, Error, Peer, Phase, reached};

/// The pause after a failed `accept`, as when the process is out of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// What all protocols on a listener have in common.
#[derive(Clone, Debug)]
pub struct ListenerConfig {
    /// Its name in logs and metrics.
    pub name: &'static str,
    /// Bounds on its connections.
    pub limits: ConnectionLimits,
    /// What it counts.
    pub counts: Arc<ConnectionCounts>,
    /// Its certificate; plain TCP without one.
    pub tls: Option<Arc<TlsContext>>,
}

/// The protocol that is spoken on a listener.
pub trait ConnectionHandler: Send + Sync + 'static {
    /// The listener that it belongs to.
    fn listener(&self) -> &ListenerConfig;

    /// The protocols that the TLS handshake offers.
    fn alpn(&self) -> Alpn {
        Alpn::None
    }

    /// Serves one connection until it ends. Once the phase is [`Phase::Draining`], it should end
    /// after the requests under way; at [`Phase::Stopped`] the future is dropped.
    fn handle<S: ByteStream>(
        self: Arc<Self>,
        stream: S,
        peer: Peer,
        phase: watch::Receiver<Phase>,
    ) -> impl Future<Output = ()> + Send;
}

/// Binds an address. Returns the listener and the address that it got, which matters for port 0.
pub async fn bind(name: &'static str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let failed = |source| Error::Listen { listener: name, address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Serves until the phase is [`Phase::Draining`] and every connection has ended, or until
/// [`Phase::Stopped`].
pub async fn serve<H: ConnectionHandler>(
    listener: TcpListener,
    handler: H,
    cores: Arc<Cores>,
    mut phase: watch::Receiver<Phase>,
) {
    let handler = Arc::new(handler);
    let mut connections = JoinSet::new();
    let mut stopping = phase.clone();
    loop {
        tokio::select! {
            () = reached(&mut stopping, Phase::Draining) => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if is_admitted(&stream, handler.listener(), connections.len()) {
                        let slot = cores.slot();
                        let core = slot.handle();
                        connections.spawn_on(log_end(stream, Arc::clone(&handler), slot, phase.clone()), &core);
                    }
                }
                Err(error) => {
                    tracing::warn!(door = %handler.listener().name, %error, "accept");
                    sleep(ACCEPT_RETRY).await;
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

/// Whether a new connection may stay, which is counted. One too many is closed at once: that is better
/// for the peer than a wait in the backlog.
fn is_admitted(stream: &TcpStream, listener: &ListenerConfig, open: usize) -> bool {
    if open >= listener.limits.connections {
        listener.counts.refused.fetch_add(1, Relaxed);
        return false;
    }
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(door = %listener.name, %error, "nodelay");
    }
    listener.counts.accepted.fetch_add(1, Relaxed);
    true
}

async fn log_end<H: ConnectionHandler>(
    stream: TcpStream,
    handler: Arc<H>,
    slot: CoreSlot,
    phase: watch::Receiver<Phase>,
) {
    if let Err(error) = serve_one(stream, &handler, &slot, phase).await {
        tracing::debug!(door = %handler.listener().name, %error, "connection");
    }
}

/// Serves a connection on the core of its slot.
async fn serve_one<H: ConnectionHandler>(
    stream: TcpStream,
    handler: &Arc<H>,
    slot: &CoreSlot,
    phase: watch::Receiver<Phase>,
) -> io::Result<()> {
    let address = stream.peer_addr()?;
    // Registers the socket with the I/O driver of this core, in place of the acceptor's.
    let stream = TcpStream::from_std(stream.into_std()?)?;
    let Some(tls) = handler.listener().tls.as_deref() else {
        Arc::clone(handler).handle(stream, Peer::at(address), phase).await;
        return Ok(());
    };
    // Boxed to keep the future of plain connections small: this one is three times as large.
    Box::pin(async {
        let mut stopping = phase.clone();
        let accepted = tokio::select! {
            accepted = tls.accept(stream, handler.alpn(), slot) => accepted,
            // A peer that sends nothing must not hold up a stop.
            () = async { reached(&mut stopping, Phase::Draining).await; sleep(CLOSE_GRACE).await } => return Ok(()),
        };
        let stream = accepted.inspect_err(|_| {
            handler.listener().counts.failed_handshakes.fetch_add(1, Relaxed);
        })?;
        let peer = Peer { address, certificate: tls::peer_certificate(&stream) };
        Arc::clone(handler).handle(stream, peer, phase).await;
        Ok(())
    })
    .await
}
