//! A service of Envoy's that says yes to everybody: what tonic and the runtime cost by themselves.

use std::net::TcpListener;
use std::str::FromStr;
use std::thread;

use anyhow::{Result, bail};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::Code;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_server::{
    RateLimitService, RateLimitServiceServer,
};
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_stream::wrappers::{TcpListenerStream, UnboundedReceiverStream};
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use super::{ANY, stay};

/// What the service runs on.
#[derive(Clone, Copy)]
pub(crate) enum Layout {
    /// tokio's default: threads that take work from each other.
    Default,
    /// As ours: a thread that accepts, and a runtime of one thread for each core.
    Cores,
}

impl Layout {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Cores => "cores",
        }
    }
}

impl FromStr for Layout {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> Result<Self> {
        match word {
            "default" => Ok(Self::Default),
            "cores" => Ok(Self::Cores),
            other => bail!("{other:?} is neither default nor cores"),
        }
    }
}

struct Yes;

#[tonic::async_trait]
impl RateLimitService for Yes {
    async fn should_rate_limit(
        &self,
        _: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let answer = RateLimitResponse { overall_code: Code::Ok.into(), ..Default::default() };
        Ok(Response::new(answer))
    }
}

pub(crate) fn serve(layout: Layout) -> Result<()> {
    let listener = TcpListener::bind(ANY)?;
    let address = listener.local_addr()?;
    match layout {
        Layout::Default => serve_by_default(listener)?,
        Layout::Cores => serve_by_core(listener)?,
    }
    stay(&[address])
}

fn serve_by_default(listener: TcpListener) -> Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    thread::spawn(move || {
        runtime.block_on(async {
            let sockets = TcpListenerStream::new(tokio::net::TcpListener::from_std(listener)?);
            serve_all(sockets).await
        })
    });
    Ok(())
}

fn serve_by_core(listener: TcpListener) -> Result<()> {
    let cores = thread::available_parallelism()?.get();
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..cores).map(|_| unbounded_channel()).unzip();
    for sockets in receivers {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        thread::spawn(move || runtime.block_on(serve_all(handed_over(sockets))));
    }
    thread::spawn(move || {
        for (socket, sender) in listener.incoming().zip(senders.iter().cycle()) {
            drop(sender.send(socket));
        }
    });
    Ok(())
}

/// The sockets that come from another thread.
fn handed_over(
    sockets: UnboundedReceiver<std::io::Result<std::net::TcpStream>>,
) -> impl tokio_stream::Stream<Item = std::io::Result<TcpStream>> {
    tokio_stream::StreamExt::map(UnboundedReceiverStream::new(sockets), |socket| {
        let socket = socket?;
        socket.set_nonblocking(true)?;
        TcpStream::from_std(socket)
    })
}

async fn serve_all(sockets: impl tokio_stream::Stream<Item = std::io::Result<TcpStream>>) -> Result<()> {
    let sockets = tokio_stream::StreamExt::map(sockets, |socket| {
        socket.and_then(|socket| socket.set_nodelay(true).map(|()| socket))
    });
    Ok(Server::builder().add_service(RateLimitServiceServer::new(Yes)).serve_with_incoming(sockets).await?)
}
