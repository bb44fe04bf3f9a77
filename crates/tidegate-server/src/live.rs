//! A look at the servers of the store, without serving.

use std::time::Duration;

use tidegate_redis::Client;
use tidegate_redis::client::{Examined, Finding, Weight};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::config::{Config, StoreKind};
use crate::error::Error;
use crate::reach::{Refusal, refusals};
use crate::stack;

/// Looks at every server of the configured store; none if counters live in memory.
pub async fn examine(config: &Config, patience: Duration) -> Result<Vec<Examined>, Error> {
    let StoreKind::Redis(address) = &config.store else { return Ok(Vec::new()) };
    let mut addresses = vec![address];
    for store in config.stores.iter().filter(|store| store.address != *address) {
        if !addresses.contains(&&store.address) {
            addresses.push(&store.address);
        }
    }
    let mut all = Vec::new();
    for address in addresses {
        if let Some(refusals) = refusals(address).await {
            all.extend(refusals.into_iter().map(refused));
            continue;
        }
        let client = Client::open(address.clone(), stack::asked(config)?, &Handle::current())?;
        // Servers that are not connected by then are looked at all the same: that is a finding.
        let found = timeout(patience, client.ready()).await.is_ok();
        let examined = client.examine(patience).await;
        if examined.is_empty() && !found {
            return Err(Error::NoServer);
        }
        all.extend(examined);
    }
    Ok(all)
}

/// What is told of a server that refuses connections, without waiting for it.
fn refused(Refusal { server, why }: Refusal) -> Examined {
    let finding = Finding {
        weight: Weight::Error,
        what: why,
        why: "counters that live there cannot be asked; its classes' policies decide instead".to_owned(),
        change: "start the server, or correct the address".to_owned(),
    };
    Examined { shard: server, facts: Vec::new(), findings: vec![finding] }
}
