//! An API behind Tidegate's tower layer: `cargo run -p tidegate --features tower --example axum`, then
//! `curl -i -H 'x-api-key: k1' localhost:3000/hello` until it says 429.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderName};
use axum::routing::get;
use tidegate::tower::{Applied, ClientIp, Legacy, RateLimitLayer, Settings, Trusted, key};
use tidegate::{Clock, Error, Limit, Limiter, Rate, Rule};

/// The service: five quick requests per API key and then one every two seconds, three hundred a minute per address, and
/// never more than two of the slow ones at once.
pub(crate) fn app<C: Clock + 'static>(limiter: Limiter<C>) -> Result<Router, Box<dyn std::error::Error>> {
    let per_key = Rule::new("per-key", Limit::gcra(Rate::new(1, Duration::from_secs(2))?, 5)?)?;
    let per_address = Rule::new("per-address", Limit::sliding_window(300, Duration::from_secs(60))?)?;

    // Only this proxy is believed when it names another address than its own.
    let behind = ClientIp { trusted: Trusted::parse(["127.0.0.1", "::1"])?, ..ClientIp::default() };
    let limits = RateLimitLayer::new(limiter.clone())
        .apply(Applied::new(per_key, key::header(HeaderName::from_static("x-api-key"))).if_present())
        .rule(per_address, key::client_ip(peer, behind))
        .headers(Settings { legacy: Legacy::Epoch, ..Settings::default() });

    Ok(Router::new()
        .route("/hello", get(|| async { "hello\n" }))
        .route("/slow", get(slow).layer(at_once(limiter)?))
        .layer(limits))
}

/// Protects the slow part: whoever comes when two are inside is told 503.
fn at_once<C: Clock>(limiter: Limiter<C>) -> Result<RateLimitLayer<C>, Error> {
    let two = Rule::new("slow", Limit::concurrency(2, Duration::from_secs(60))?)?;
    Ok(RateLimitLayer::new(limiter).shed(two))
}

async fn slow() -> &'static str {
    tokio::time::sleep(Duration::from_secs(5)).await;
    "slept well\n"
}

/// Where axum keeps the address of the peer.
fn peer(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
}

/// Serves until it is stopped, on the address given as an argument or on 127.0.0.1:3000.
#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stderr, reason = "an example talks to the person who runs it")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let listener = tokio::net::TcpListener::bind(&address).await?;
    let address = listener.local_addr()?;
    eprintln!("listening on http://{address}; try: curl -i -H 'x-api-key: k1' http://{address}/hello");
    Ok(axum::serve(listener, app(Limiter::new())?.into_make_service_with_connect_info::<SocketAddr>())
        .await?)
}
