//! As much of JSON Schema as the schemas of questions use. What it does not know, it does not pass over.

use serde_json::Value;

const KNOWN: [&str; 23] = [
    "$ref",
    "type",
    "enum",
    "anyOf",
    "required",
    "properties",
    "additionalProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "description",
    "default",
    "examples",
    "format",
];

/// Whether a value is as a schema says.
pub(super) fn is_valid(schema: &Value, value: &Value, document: &Value) -> bool {
    let Value::Object(words) = schema else { return schema != &Value::Bool(false) };
    words.iter().all(|(word, says)| {
        assert!(KNOWN.contains(&word.as_str()), "{word} is not known here");
        match value {
            _ if matches!(word.as_str(), "$ref" | "type" | "enum" | "anyOf") => {
                of_any((word, says), value, document)
            }
            Value::Object(_) => of_object((word, says), schema, value, document),
            Value::Array(list) => of_list((word, says), schema, list, document),
            Value::String(text) => of_text((word, says), text),
            Value::Number(number) => of_number((word, says), number.as_f64().unwrap()),
            Value::Null | Value::Bool(_) => true,
        }
    })
}

fn of_any((word, says): (&str, &Value), value: &Value, document: &Value) -> bool {
    match word {
        "$ref" => is_valid(document.pointer(&says.as_str().unwrap()[1..]).unwrap(), value, document),
        "type" => match says {
            Value::Array(types) => types.iter().any(|one| is_a(one, value)),
            one => is_a(one, value),
        },
        "enum" => says
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one == value || whole(one).is_some() && whole(one) == whole(value)),
        _ => says.as_array().unwrap().iter().any(|one| is_valid(one, value, document)),
    }
}

fn is_a(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => whole(value).is_some(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other} is not known here"),
    }
}

fn whole(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.fract() == 0.0)
}

fn of_object((word, says): (&str, &Value), schema: &Value, value: &Value, document: &Value) -> bool {
    let object = value.as_object().unwrap();
    let known = |name: &str| schema["properties"].get(name);
    match word {
        "required" => says.as_array().unwrap().iter().all(|name| object.contains_key(name.as_str().unwrap())),
        "properties" => {
            object.iter().all(|(name, value)| known(name).is_none_or(|one| is_valid(one, value, document)))
        }
        "additionalProperties" => {
            let mut others = object.iter().filter(|(name, _)| known(name).is_none());
            others.all(|(_, value)| is_valid(says, value, document))
        }
        "propertyNames" => object.keys().all(|name| is_valid(says, &Value::from(name.as_str()), document)),
        "minProperties" => object.len() as u64 >= says.as_u64().unwrap(),
        "maxProperties" => object.len() as u64 <= says.as_u64().unwrap(),
        _ => true,
    }
}

fn of_list((word, says): (&str, &Value), schema: &Value, list: &[Value], document: &Value) -> bool {
    let first = schema["prefixItems"].as_array().map_or(0, Vec::len);
    match word {
        "items" => list.iter().skip(first).all(|item| is_valid(says, item, document)),
        "prefixItems" => {
            says.as_array().unwrap().iter().zip(list).all(|(one, item)| is_valid(one, item, document))
        }
        "minItems" => list.len() as u64 >= says.as_u64().unwrap(),
        "maxItems" => list.len() as u64 <= says.as_u64().unwrap(),
        _ => true,
    }
}

/// A pattern here is a class of characters and how many there are.
fn of_text((word, says): (&str, &Value), text: &str) -> bool {
    match word {
        "minLength" => text.chars().count() as u64 >= says.as_u64().unwrap(),
        "maxLength" => text.chars().count() as u64 <= says.as_u64().unwrap(),
        "pattern" => {
            let (digits, counts) =
                says.as_str().unwrap().strip_prefix("^[").unwrap().split_once("]{").unwrap();
            let counts = counts.strip_suffix("}$").unwrap();
            let (least, most) = counts.split_once(',').unwrap_or((counts, counts));
            let range = least.parse::<usize>().unwrap()..=most.parse().unwrap();
            let is_in =
                |digit: u8| if digits == "0-9" { digit.is_ascii_digit() } else { digit.is_ascii_hexdigit() };
            range.contains(&text.len()) && text.bytes().all(is_in)
        }
        _ => true,
    }
}

fn of_number((word, says): (&str, &Value), number: f64) -> bool {
    match word {
        "minimum" => number >= says.as_f64().unwrap(),
        "maximum" => number <= says.as_f64().unwrap(),
        _ => true,
    }
}
