//! Addresses: all of them are taken before any door is served.

use std::net::SocketAddr;

use tidegate_net::bind;
use tokio::net::TcpListener;

use crate::config::Config;
use crate::error::Error;

/// Where the doors really listen; `None` if one is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Envoy's rate limit service.
    pub grpc: Option<SocketAddr>,
    /// The HTTP API.
    pub http: Option<SocketAddr>,
    /// The Redis protocol.
    pub resp: Option<SocketAddr>,
    /// Metrics and administration.
    pub admin: Option<SocketAddr>,
}

/// Listeners that are bound and not served yet.
pub(super) struct Listeners {
    pub(super) checks: CheckListeners,
    pub(super) admin: Option<TcpListener>,
    pub(super) addresses: Addresses,
}

/// The listeners at which checks come in.
pub(super) struct CheckListeners {
    pub(super) grpc: Option<TcpListener>,
    pub(super) http: Option<TcpListener>,
    pub(super) resp: Option<TcpListener>,
}

impl Listeners {
    /// Takes all addresses.
    pub(super) async fn bind(config: &Config) -> Result<Self, Error> {
        let (grpc, grpc_at) = open("grpc", config.listen.grpc).await?;
        let (http, http_at) = open("http", config.listen.http).await?;
        let (resp, resp_at) = open("resp", config.listen.resp).await?;
        let (admin, admin_at) = open("admin", config.listen.admin).await?;
        let addresses = Addresses { grpc: grpc_at, http: http_at, resp: resp_at, admin: admin_at };
        Ok(Self { checks: CheckListeners { grpc, http, resp }, admin, addresses })
    }
}

async fn open(
    door: &'static str,
    address: Option<SocketAddr>,
) -> Result<(Option<TcpListener>, Option<SocketAddr>), Error> {
    let Some(address) = address else { return Ok((None, None)) };
    let (listener, bound) = bind(door, address).await?;
    tracing::info!(%door, addr = %bound, "listening");
    Ok((Some(listener), Some(bound)))
}
