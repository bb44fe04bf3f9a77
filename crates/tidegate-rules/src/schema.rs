//! The JSON Schema of a rule file, from the same tables that files are held against.

use serde_json::{Map, Value, json};

use crate::reference::{ALL, FILE, TEST};
use crate::shape::{Object, Shape};

/// The schema, for editors: `# yaml-language-server: $schema=tidegate.schema.json`.
pub fn json_schema() -> Value {
    let mut definitions: Map<String, Value> = ALL.iter().map(|table| (key(table), object(table))).collect();
    definitions.insert("condition".to_owned(), condition());
    let mut schema = object(&FILE);
    if let Value::Object(members) = &mut schema {
        members.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        members.insert("title".to_owned(), json!("Tidegate rules"));
        members.insert("required".to_owned(), json!(["domain"]));
        members.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

fn key(object: &Object) -> String {
    let name =
        object.name.strip_prefix("a ").or_else(|| object.name.strip_prefix("an ")).unwrap_or(object.name);
    name.replace(' ', "-")
}

fn object(object: &Object) -> Value {
    let property = |field: &crate::shape::Field| {
        let mut value = match field.name {
            "match" | "count" => json!({ "$ref": "#/$defs/condition" }),
            _ => shape(&field.shape),
        };
        if let Value::Object(members) = &mut value {
            members.insert("description".to_owned(), json!(field.doc));
        }
        (field.name.to_owned(), value)
    };
    let properties: Map<String, Value> = object.keys.iter().map(property).collect();
    json!({ "type": "object", "description": object.doc, "properties": properties, "additionalProperties": false })
}

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": ["string", "number", "boolean"] }),
        Shape::Whole { least, most } if *most == i64::MAX => json!({ "type": "integer", "minimum": least }),
        Shape::Whole { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Truth => json!({ "type": "boolean" }),
        Shape::Word(words) => json!({ "enum": words }),
        Shape::List(item) => json!({ "type": "array", "items": self::shape(item) }),
        Shape::OneOrMore(item) => {
            json!({ "anyOf": [self::shape(item), { "type": "array", "items": self::shape(item) }] })
        }
        Shape::Map(value) => json!({ "type": "object", "additionalProperties": self::shape(value) }),
        Shape::Object(object) => json!({ "$ref": format!("#/$defs/{}", key(object)) }),
        Shape::Either(shapes) => json!({ "anyOf": shapes.iter().map(self::shape).collect::<Vec<_>>() }),
        Shape::Anything => json!({}),
    }
}

/// Names of attributes, and the words that combine conditions.
fn condition() -> Value {
    let itself = json!({ "$ref": "#/$defs/condition" });
    let scalar = json!({ "type": ["string", "number", "boolean"] });
    let test = json!({ "$ref": format!("#/$defs/{}", key(&TEST)) });
    let listed = json!({ "type": "array", "items": { "anyOf": [scalar, test] } });
    let value = json!({ "anyOf": [scalar, listed, test] });
    json!({
        "type": "object",
        "description": "All entries must hold. Keys are attributes (method, path, plan, ip, api_key, header.x-…), or not, any, all, headers, query.",
        "properties": {
            "not": itself,
            "any": { "type": "array", "items": itself },
            "all": { "type": "array", "items": itself },
            "headers": { "type": "object", "additionalProperties": value },
            "query": { "type": "object", "additionalProperties": value },
        },
        "additionalProperties": value,
    })
}

/// The reference of all keys as Markdown, for the documentation.
pub fn reference() -> String {
    let row =
        |field: &crate::shape::Field| format!("| `{}` | {} |\n", field.name, field.doc.replace('|', "\\|"));
    let table = |object: &&'static Object| {
        let rows: String = object.keys.iter().map(row).collect();
        format!("## {}\n\n{}\n\n| key | says |\n|---|---|\n{rows}\n", key(object), object.doc)
    };
    ALL.iter().map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_has_its_definition() {
        let schema = json_schema();
        let text = schema.to_string();
        let definitions = schema["$defs"].as_object().unwrap();
        for part in text.split("#/$defs/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(definitions.contains_key(name), "{name}");
        }
        assert_eq!(
            schema["$defs"]["rule"]["properties"]["mode"]["enum"],
            json!(["enforce", "shadow", "off"])
        );
        assert_eq!(schema["properties"]["rules"]["items"]["$ref"], "#/$defs/rule");
    }

    #[test]
    fn every_key_is_explained() {
        for table in ALL {
            for field in table.keys {
                assert!(!field.doc.is_empty(), "{} of {}", field.name, table.name);
                assert!(reference().contains(field.doc.split('|').next().unwrap()));
            }
        }
    }
}
