//! Those who ask a door: plain bytes that were made beforehand, so that the load costs little and is the same for all.

mod grpc;
mod http;
mod resp;

use std::net::SocketAddr;
use std::ops::Range;

use anyhow::Result;
use tokio::net::TcpStream;

pub(super) use self::grpc::{Caller as GrpcCaller, connect as connect_grpc};
pub(super) use self::http::connect as connect_http;
pub(super) use self::resp::connect as connect_resp;

/// One who asks, and waits for the answer.
pub(super) trait Talker: Send + 'static {
    /// Asks for these checks at once. Fails if one is refused: limits are out of reach.
    fn ask(&mut self, checks: Range<usize>) -> impl Future<Output = Result<()>> + Send;
}

/// So many connections.
async fn sockets(address: SocketAddr, connections: usize) -> Result<Vec<TcpStream>> {
    let mut sockets = Vec::with_capacity(connections);
    for _ in 0..connections {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        sockets.push(socket);
    }
    Ok(sockets)
}
