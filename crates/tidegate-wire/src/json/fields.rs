//! The fields of a JSON object, taken one by one; what is wrong is said with the field's name and never with its value.

use serde_json::{Map, Value};

/// What is wrong with a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FieldError(String);

impl FieldError {
    /// An error in these words, which repeat no value.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

/// An object of which fields are taken until none is left.
#[derive(Debug)]
pub struct Fields {
    what: &'static str,
    left: Map<String, Value>,
    known: Vec<&'static str>,
}

/// As much of an unknown name as is repeated.
const MOST_OF_A_NAME: usize = 64;

impl Fields {
    /// The fields of a value, which must be an object; `what` names it in errors.
    pub fn of(what: &'static str, value: Value) -> Result<Self, FieldError> {
        match value {
            Value::Object(left) => Ok(Self { what, left, known: Vec::new() }),
            other => Err(FieldError::new(format!("{what} is {} and should be an object", kind(&other)))),
        }
    }

    /// The field of that name, or of one of its other spellings; `null` is as good as none. Who says it in two
    /// spellings is told that the second is unknown.
    pub fn take(&mut self, names: &[&'static str]) -> Option<Value> {
        self.known.extend(names.first());
        let said = names.iter().find_map(|name| self.left.remove(*name).filter(|value| !value.is_null()));
        for name in names {
            self.forget_null(name);
        }
        said
    }

    /// A text.
    pub fn text(&mut self, names: &[&'static str]) -> Result<Option<String>, FieldError> {
        match self.take(names) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.mistaken(names, &other, "text")),
        }
    }

    /// A truth value; false if it is not there.
    pub fn truth(&mut self, names: &[&'static str]) -> Result<bool, FieldError> {
        match self.take(names) {
            None => Ok(false),
            Some(Value::Bool(truth)) => Ok(truth),
            Some(other) => Err(self.mistaken(names, &other, "true or false")),
        }
    }

    /// A list.
    pub fn list(&mut self, names: &[&'static str]) -> Result<Option<Vec<Value>>, FieldError> {
        match self.take(names) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(self.mistaken(names, &other, "a list")),
        }
    }

    /// A whole number.
    pub fn count(&mut self, names: &[&'static str]) -> Result<Option<u64>, FieldError> {
        self.counted(names, whole)
    }

    /// A number that may come as text, as protobuf writes those of 64 bits.
    pub fn count_or_digits(&mut self, names: &[&'static str]) -> Result<Option<u64>, FieldError> {
        self.counted(names, |value| match value {
            Value::String(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                digits.parse().ok()
            }
            Value::String(_) => None,
            number => whole(number),
        })
    }

    /// Fails if a field is left that nobody has asked for.
    pub fn finish(self) -> Result<(), FieldError> {
        let Some((name, _)) = self.left.into_iter().next() else { return Ok(()) };
        let name: String = name.chars().take(MOST_OF_A_NAME).collect();
        Err(FieldError::new(format!(
            "{} has an unknown field `{name}`; it knows {}",
            self.what,
            self.known.join(", ")
        )))
    }

    /// The error for a field that is not there.
    pub fn missing(&self, name: &str) -> FieldError {
        FieldError::new(format!("{} has no `{name}`", self.what))
    }

    fn counted(
        &mut self,
        names: &[&'static str],
        read: impl Fn(&Value) -> Option<u64>,
    ) -> Result<Option<u64>, FieldError> {
        let Some(value) = self.take(names) else { return Ok(None) };
        match read(&value) {
            Some(count) => Ok(Some(count)),
            None => Err(self.mistaken(names, &value, "a whole number from 0 on")),
        }
    }

    fn forget_null(&mut self, name: &str) {
        if self.left.get(name).is_some_and(Value::is_null) {
            self.left.remove(name);
        }
    }

    fn mistaken(&self, names: &[&'static str], value: &Value, should: &str) -> FieldError {
        let name = names.first().unwrap_or(&"");
        FieldError::new(format!("`{name}` of {} is {} and should be {should}", self.what, kind(value)))
    }
}

/// A whole number from 0 on. To JSON, 5.0 is one, and some languages write it so.
pub fn whole(value: &Value) -> Option<u64> {
    let Value::Number(number) = value else { return None };
    number.as_u64().or_else(|| number.to_string().strip_suffix(".0")?.parse().ok())
}

/// What a value is, in words that do not repeat it.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_u64() => "a number",
        Value::Number(_) => "a number below 0 or with a fraction",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
