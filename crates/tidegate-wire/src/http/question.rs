//! A check as it comes in JSON.

use std::time::Duration;

use serde_json::Value;
use tidegate_engine::{Check, Descriptor};
use tidegate_store::Hold;

use super::fields::{Fields, Wrong, kind};
use crate::trust::{Caller, Trust};

/// A check, owned.
pub(super) struct Question {
    domain: String,
    attributes: Vec<(String, String)>,
    descriptors: Vec<Vec<(String, String)>>,
    cost: u64,
    idempotency_key: Option<String>,
}

/// The same as the engine takes it, but for the outermost slices.
pub(super) struct Pairs<'q> {
    attributes: Vec<(&'q str, &'q str)>,
    entries: Vec<Vec<(&'q str, &'q str)>>,
}

const DEFAULT_HOLD_MS: u64 = 60_000;
const MAX_HOLD_MS: u64 = 24 * 60 * 60 * 1000;

impl Question {
    /// Reads `{"domain", "attributes", "descriptors", "cost", "idempotency_key"}`.
    pub(super) fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Fields::of("the check", value)?;
        let question = Self::take(&mut fields)?;
        fields.finish().map(|()| question)
    }

    /// Reads the same with `hold_ms` and `at_end`.
    pub(super) fn read_with_hold(value: Value) -> Result<(Self, Hold), Wrong> {
        let mut fields = Fields::of("the check", value)?;
        let question = Self::take(&mut fields)?;
        let hold = hold(&mut fields)?;
        fields.finish().map(|()| (question, hold))
    }

    /// Reads the same with `charged_at_ms`.
    pub(super) fn read_with_charged_at(value: Value) -> Result<(Self, Option<u64>), Wrong> {
        let mut fields = Fields::of("the check", value)?;
        let question = Self::take(&mut fields)?;
        let charged_at_ms = fields.count(&["charged_at_ms"])?;
        fields.finish().map(|()| (question, charged_at_ms))
    }

    fn take(fields: &mut Fields) -> Result<Self, Wrong> {
        Ok(Self {
            domain: fields.text(&["domain"])?.ok_or_else(|| fields.missing("domain"))?,
            attributes: attributes(fields)?,
            descriptors: descriptors(fields)?,
            cost: fields.count(&["cost"])?.unwrap_or(1),
            idempotency_key: fields.text(&["idempotency_key"])?,
        })
    }

    /// Leaves out what the caller claims without being trusted.
    pub(super) fn keep_what_counts(&mut self, trust: &Trust, caller: Caller) {
        trust.filter(caller, &mut self.attributes);
        self.descriptors.iter_mut().for_each(|entries| trust.filter(caller, entries));
    }

    pub(super) fn pairs(&self) -> Pairs<'_> {
        Pairs {
            attributes: borrowed(&self.attributes),
            entries: self.descriptors.iter().map(|entries| borrowed(entries)).collect(),
        }
    }

    pub(super) fn check<'q>(
        &'q self,
        pairs: &'q Pairs<'q>,
        descriptors: &'q [Descriptor<'q>],
        patience: Option<Duration>,
    ) -> Check<'q> {
        Check {
            domain: &self.domain,
            attributes: &pairs.attributes,
            descriptors,
            cost: self.cost,
            idempotency_key: self.idempotency_key.as_deref(),
            patience,
        }
    }
}

impl Pairs<'_> {
    pub(super) fn descriptors(&self) -> Vec<Descriptor<'_>> {
        self.entries.iter().map(|entries| Descriptor { entries, limit: None, cost: None }).collect()
    }
}

fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// `{"name": "value", …}`; numbers and truths are taken as text.
fn attributes(fields: &mut Fields) -> Result<Vec<(String, String)>, Wrong> {
    let map = match fields.take(&["attributes"]) {
        None => return Ok(Vec::new()),
        Some(Value::Object(map)) => map,
        Some(other) => {
            return Err(Wrong(format!("`attributes` is {} and should be an object", kind(&other))));
        }
    };
    map.into_iter()
        .map(|(name, value)| text("a value of `attributes`", value).map(|value| (name, value)))
        .collect()
}

/// `[[["key", "value"], …], …]`.
fn descriptors(fields: &mut Fields) -> Result<Vec<Vec<(String, String)>>, Wrong> {
    let list = fields.list(&["descriptors"])?.unwrap_or_default();
    list.into_iter()
        .map(|descriptor| match descriptor {
            Value::Array(entries) => entries.into_iter().map(entry).collect(),
            other => Err(Wrong(format!("a descriptor is {} and should be a list of entries", kind(&other)))),
        })
        .collect()
}

fn entry(entry: Value) -> Result<(String, String), Wrong> {
    let Value::Array(pair) = entry else {
        return Err(Wrong(format!("an entry is {} and should be [\"key\", \"value\"]", kind(&entry))));
    };
    let [key, value]: [Value; 2] = pair.try_into().map_err(|pair: Vec<Value>| {
        Wrong(format!("an entry has {} parts and should be [\"key\", \"value\"]", pair.len()))
    })?;
    Ok((text("the key of an entry", key)?, text("the value of an entry", value)?))
}

fn text(what: &str, value: Value) -> Result<String, Wrong> {
    match value {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(truth) => Ok(truth.to_string()),
        other => Err(Wrong(format!("{what} is {} and should be text", kind(&other)))),
    }
}

fn hold(fields: &mut Fields) -> Result<Hold, Wrong> {
    let ms = fields.count(&["hold_ms"])?.unwrap_or(DEFAULT_HOLD_MS);
    if !(1..=MAX_HOLD_MS).contains(&ms) {
        return Err(Wrong(format!("`hold_ms` should be from 1 to {MAX_HOLD_MS}")));
    }
    let hold = Hold::lasting(Duration::from_millis(ms));
    match fields.text(&["at_end"])?.as_deref() {
        None | Some("keep") => Ok(hold),
        Some("give_back") => Ok(hold.then_given_back()),
        Some(_) => Err(Wrong("`at_end` should be \"keep\" or \"give_back\"".to_owned())),
    }
}
