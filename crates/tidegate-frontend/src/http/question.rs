//! A check as it comes in JSON.

pub(super) mod schema;

use serde_json::Value;
use tidegate_store::{Hold, Store};

use super::domain::sole_domain;
use crate::door::Door;
use crate::door::question::{self, Question};
use tidegate_wire::json::{FieldError, Fields, kind};

impl Question {
    /// Reads `{"domain", "attributes", "descriptors", "cost", "idempotency_key"}`.
    pub(super) fn read(value: Value) -> Result<Self, FieldError> {
        let mut fields = Fields::of("the check", value)?;
        let question = Self::take(&mut fields)?;
        fields.finish().map(|()| question)
    }

    /// Reads the same with `hold_ms` and `at_end`.
    pub(super) fn read_with_hold(value: Value) -> Result<(Self, Hold), FieldError> {
        let mut fields = Fields::of("the check", value)?;
        let question = Self::take(&mut fields)?;
        let hold = hold(&mut fields)?;
        fields.finish().map(|()| (question, hold))
    }

    /// Reads the same with `charged_at_ms`.
    pub(super) fn read_with_charged_at(value: Value) -> Result<(Self, Option<u64>), FieldError> {
        let mut fields = Fields::of("the check", value)?;
        let question = Self::take(&mut fields)?;
        let charged_at_ms = fields.count(&["charged_at_ms"])?;
        fields.finish().map(|()| (question, charged_at_ms))
    }

    /// Takes the only domain of the rules if the check names none and says something else.
    pub(super) fn in_domain_of<S: Store>(mut self, door: &Door<S>) -> Result<Self, FieldError> {
        if self.domain.is_none() && !self.says_something() {
            return Err(FieldError::new("the check has no `domain`".to_owned()));
        }
        if self.domain.is_none() {
            self.domain = Some(sole_domain(door, "the check")?);
        }
        Ok(self)
    }

    pub(super) fn says_something(&self) -> bool {
        !self.attributes.is_empty() || !self.descriptors.is_empty()
    }

    fn take(fields: &mut Fields) -> Result<Self, FieldError> {
        Ok(Self {
            domain: fields.text(&["domain"])?,
            attributes: attributes(fields)?,
            descriptors: descriptors(fields)?,
            cost: fields.count(&["cost"])?.unwrap_or(1),
            idempotency_key: fields.text(&["idempotency_key"])?,
        })
    }
}

/// `{"name": "value", …}`; numbers and truths are taken as text.
pub(super) fn attributes(fields: &mut Fields) -> Result<Vec<(String, String)>, FieldError> {
    let map = match fields.take(&["attributes"]) {
        None => return Ok(Vec::new()),
        Some(Value::Object(map)) => map,
        Some(other) => {
            return Err(FieldError::new(format!("`attributes` is {} and should be an object", kind(&other))));
        }
    };
    map.into_iter()
        .map(|(name, value)| text("a value of `attributes`", value).map(|value| (name, value)))
        .collect()
}

/// `[[["key", "value"], …], …]`.
fn descriptors(fields: &mut Fields) -> Result<Vec<Vec<(String, String)>>, FieldError> {
    let list = fields.list(&["descriptors"])?.unwrap_or_default();
    list.into_iter()
        .map(|descriptor| match descriptor {
            Value::Array(entries) => entries.into_iter().map(entry).collect(),
            other => Err(FieldError::new(format!(
                "a descriptor is {} and should be a list of entries",
                kind(&other)
            ))),
        })
        .collect()
}

fn entry(entry: Value) -> Result<(String, String), FieldError> {
    let Value::Array(pair) = entry else {
        return Err(FieldError::new(format!(
            "an entry is {} and should be [\"key\", \"value\"]",
            kind(&entry)
        )));
    };
    let [key, value]: [Value; 2] = pair.try_into().map_err(|pair: Vec<Value>| {
        FieldError::new(format!("an entry has {} parts and should be [\"key\", \"value\"]", pair.len()))
    })?;
    Ok((text("the key of an entry", key)?, text("the value of an entry", value)?))
}

fn text(what: &str, value: Value) -> Result<String, FieldError> {
    match value {
        Value::String(text) => Ok(text),
        // To JSON 5.0 is 5, and some languages write it so: one value has one counter.
        Value::Number(number) => {
            let digits = number.to_string();
            Ok(digits.strip_suffix(".0").map_or_else(|| digits.clone(), str::to_owned))
        }
        Value::Bool(truth) => Ok(truth.to_string()),
        other => Err(FieldError::new(format!("{what} is {} and should be text", kind(&other)))),
    }
}

fn hold(fields: &mut Fields) -> Result<Hold, FieldError> {
    let ms = fields.count(&["hold_ms"])?;
    let gives_back = match fields.text(&["at_end"])?.as_deref() {
        None | Some("keep") => false,
        Some("give_back") => true,
        Some(_) => return Err(FieldError::new("`at_end` should be \"keep\" or \"give_back\"".to_owned())),
    };
    question::hold(ms, gives_back).map_err(FieldError::new)
}
