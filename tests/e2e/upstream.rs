//! The service behind Envoy: it answers with what it was asked, as JSON, and counts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::Request;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A running upstream.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    served: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Upstream {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&served);
        let echo = move |request: Request| {
            count.fetch_add(1, Ordering::Relaxed);
            async move { echo(request).await.to_string() }
        };
        let app = Router::new().fallback(echo);
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, served, task }
    }

    /// How many requests have reached it.
    pub(crate) fn served(&self) -> usize {
        self.served.load(Ordering::Relaxed)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn echo(request: Request) -> Value {
    let (request, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let text = |value: &http::HeaderValue| Value::from(String::from_utf8_lossy(value.as_bytes()));
    let headers = request.headers.iter().map(|(name, value)| (name.to_string(), text(value)));
    json!({
        "method": request.method.as_str(),
        "path": request.uri.path(),
        "headers": headers.collect::<Map<_, _>>(),
        "body": String::from_utf8_lossy(&body),
    })
}
