//! Every example of the document is asked, and answered with what stands under the same name among the answers.

use serde_json::{Value, json};

use crate::over_http::documented::compare;
use crate::tidegate::Tidegate;

use super::RULES;

/// What the examples of a route need to be there before: a decision that holds something.
async fn held(tidegate: &Tidegate, path: &str) -> Option<String> {
    let (route, question) = match path {
        "/v1/commit" | "/v1/cancel" => ("/v1/reserve", json!({ "api_key": "held" })),
        "/v1/release" | "/v1/renew" => ("/v1/check", json!({ "api_key": path, "path": "/v1/exports" })),
        _ => return None,
    };
    let answer = tidegate.post(route, json!({ "domain": "api", "attributes": question })).await.expect(200);
    answer.json()["id"].as_str().map(str::to_owned)
}

/// The status and the body that stand under a name among the answers of an operation.
fn answered<'d>(operation: &'d Value, name: &str, document: &'d Value) -> Option<(&'d str, &'d Value)> {
    operation["responses"].as_object()?.iter().find_map(|(status, answer)| {
        let shared = answer["$ref"].as_str().and_then(|place| document.pointer(&place[1..]));
        let content = shared.unwrap_or(answer)["content"].as_object()?;
        let value = content.values().find_map(|media| media["examples"].get(name)?.get("value"))?;
        Some((status.as_str(), value))
    })
}

#[tokio::test]
async fn every_example_of_the_document_is_answered_as_it_says() {
    let tidegate = Tidegate::with(RULES).await;
    let document = tidegate.get("/openapi.json").await.expect(200).json();
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let operation = &operations["post"];
        let examples = &operation["requestBody"]["content"]["application/json"]["examples"];
        for (name, example) in examples.as_object().into_iter().flatten() {
            let mut question = example["value"].clone();
            if let Some(id) = held(&tidegate, path).await {
                question["id"] = json!(id);
            }
            let found = answered(operation, name, &document);
            let (status, says) = found.unwrap_or_else(|| panic!("{path} has no answer to {name}"));
            let mut says = says.clone();
            let answer = tidegate.post(path, &question).await;
            let context = format!("{path} {name} is answered {answer:?}");
            assert_eq!(answer.status.to_string(), status, "{context}");
            let real = answer.json();
            forget_ids(&mut says, &real);
            compare(&says, &real, &context);
            asked += 1;
        }
    }
    assert!(asked > 8, "the document has lost its examples");
}

/// Ids differ each time.
fn forget_ids(says: &mut Value, real: &Value) {
    match (says, real) {
        (Value::Object(says), Value::Object(real)) => {
            for (name, value) in says {
                match real.get(name) {
                    Some(found) if name == "id" => *value = found.clone(),
                    Some(found) => forget_ids(value, found),
                    None => {}
                }
            }
        }
        (Value::Array(says), Value::Array(real)) => {
            says.iter_mut().zip(real).for_each(|(says, real)| forget_ids(says, real));
        }
        _ => {}
    }
}
