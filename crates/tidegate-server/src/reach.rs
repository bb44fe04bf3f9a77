//! Whether anything listens where the store should be: a refusal is known at once and need not be waited out.

use std::io::ErrorKind;

use tidegate_redis::client::Address;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::config::{Config, StoreKind};

/// A server that cannot be connected to, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) server: String,
    pub(crate) why: String,
}

/// Every server of an address, if all of them refuse connections or have no address.
pub(crate) async fn refusals(address: &Address) -> Option<Vec<Refusal>> {
    let mut tries = JoinSet::new();
    for server in address.servers().split(',').map(str::to_owned) {
        tries.spawn(async move {
            let error = TcpStream::connect(&server).await.err()?;
            Some(Refusal { server, why: why(&error) })
        });
    }
    let mut refusals: Vec<_> = tries.join_all().await.into_iter().collect::<Option<_>>()?;
    refusals.sort_by(|one: &Refusal, other| one.server.cmp(&other.server));
    Some(refusals)
}

/// Returns as soon as every server of some configured store refuses; never, if none does.
pub(crate) async fn until_refused(config: &Config) -> Vec<Refusal> {
    let StoreKind::Redis(address) = &config.store else { return std::future::pending().await };
    match refusals(address).await {
        Some(refusals) => refusals,
        None => std::future::pending().await,
    }
}

fn why(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(servers: &[std::net::SocketAddr]) -> Address {
        let servers: Vec<_> = servers.iter().map(ToString::to_string).collect();
        format!("redis-cluster://{}", servers.join(",")).parse().unwrap()
    }

    #[tokio::test]
    async fn refused_if_every_server_refuses() {
        // A port that is bound and not listened at refuses every connection.
        let refusing = tokio::net::TcpSocket::new_v4().unwrap();
        refusing.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (closed, open) =
            (refusing.local_addr().unwrap(), tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap());
        let refusal = Refusal { server: closed.to_string(), why: "connection refused".to_owned() };
        assert_eq!(refusals(&address(&[closed])).await, Some(vec![refusal]));
        assert_eq!(refusals(&address(&[closed, open.local_addr().unwrap()])).await, None);
    }
}
