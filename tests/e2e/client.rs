//! A small HTTP client: one connection for each request, whole answers.

use std::net::SocketAddr;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::patience::within;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// The one value of a header that is there at most once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next().map(|value| value.to_str().unwrap());
        assert!(values.next().is_none(), "{name} came twice: {self:?}");
        value
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The same, if it has the status that was expected.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
}

/// Sends a request, or says why it could not. The host is called by its address.
pub(crate) async fn try_send(to: SocketAddr, mut request: Request<String>) -> Result<Answer, String> {
    let host = HeaderValue::try_from(to.to_string()).expect("an address is visible ASCII");
    request.headers_mut().entry(HOST).or_insert(host);
    let stream = TcpStream::connect(to).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request.map(|body| Full::new(Bytes::from(body)))).await;
    let (parts, body) = answer.map_err(|error| error.to_string())?.into_parts();
    let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
    connection.abort();
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
}

/// Sends a request.
pub(crate) async fn send(to: SocketAddr, request: Request<String>) -> Answer {
    let what = format!("an answer to {} {}", request.method(), request.uri());
    within(&what, try_send(to, request)).await.unwrap_or_else(|error| panic!("no {what}: {error}"))
}

pub(crate) async fn get(to: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Answer {
    send(to, request("GET", path, headers, String::new())).await
}

pub(crate) async fn post(to: SocketAddr, path: &str, body: impl ToString) -> Answer {
    send(to, request("POST", path, &[("content-type", "application/json")], body.to_string())).await
}

pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: String) -> Request<String> {
    let start = Request::builder().method(method).uri(path);
    headers.iter().fold(start, |request, (name, value)| request.header(*name, *value)).body(body).unwrap()
}
