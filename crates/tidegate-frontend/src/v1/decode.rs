//! What callers send.

use super::proto;
use crate::door::question::Question;

pub(super) fn question(message: proto::CheckRequest) -> Question {
    let entries = |descriptor: proto::Descriptor| {
        descriptor.entries.into_iter().map(|entry| (entry.key, entry.value)).collect()
    };
    Question {
        domain: Some(message.domain),
        attributes: message.attributes.into_iter().collect(),
        descriptors: message.descriptors.into_iter().map(entries).collect(),
        cost: message.cost.unwrap_or(1),
        idempotency_key: message.idempotency_key,
    }
}
