//! Unary calls over HTTP/2.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use ::http::{Method, Request, Version};
use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use h2::client::{Builder, SendRequest};

use super::{Talker, sockets};
use crate::doors::requests::Requests;

/// What an answer that lets pass begins with, in all three services: five bytes of framing, and a first field that is 1.
const YES: [u8; 2] = [0x08, 0x01];

pub(in crate::doors) struct Caller {
    stream: SendRequest<Bytes>,
    head: Request<()>,
    requests: Arc<Requests>,
}

/// So many callers on each of so many connections.
pub(in crate::doors) async fn connect(
    (address, path): (SocketAddr, &'static str),
    requests: &Arc<Requests>,
    (connections, callers): (usize, usize),
) -> Result<Vec<Caller>> {
    let head = Request::builder()
        .version(Version::HTTP_2)
        .method(Method::POST)
        .uri(format!("http://bench{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())?;
    let mut all = Vec::with_capacity(connections * callers);
    for socket in sockets(address, connections).await? {
        let mut builder = Builder::new();
        builder.initial_window_size(1 << 20).initial_connection_window_size(1 << 24);
        let (stream, connection) = builder.handshake(socket).await?;
        tokio::spawn(connection);
        let caller = || Caller { stream: stream.clone(), head: head.clone(), requests: Arc::clone(requests) };
        all.extend((0..callers).map(|_| caller()));
    }
    Ok(all)
}

impl Talker for Caller {
    async fn ask(&mut self, checks: Range<usize>) -> Result<()> {
        for check in checks {
            let mut stream = self.stream.clone().ready().await?;
            let (answer, mut body) = stream.send_request(self.head.clone(), false)?;
            body.send_data(self.requests.of(check), true)?;
            let mut answer = answer.await?.into_body();
            let mut read = Vec::new();
            while let Some(part) = answer.data().await {
                let part = part?;
                answer.flow_control().release_capacity(part.len())?;
                read.extend_from_slice(&part);
            }
            let trailers = answer.trailers().await?;
            let status = trailers.as_ref().and_then(|trailers| trailers.get("grpc-status"));
            let status = status.context("a call has ended without a status")?;
            ensure!(status == "0", "a call has failed with status {}", status.to_str().unwrap_or("?"));
            if read.get(5..7) != Some(&YES) {
                bail!("a request was refused under limits out of reach");
            }
        }
        Ok(())
    }
}
