//! The page on the HTTP API is right: its examples are asked in their order, and answered as it says.
//!
//! An answer on the page says the status and some members: a member is compared if it is a text, a truth value or a list of
//! them, and has to be there whatever it is; numbers are times and versions for the most part. `5f0c…` stands for the last
//! decision's id, and `…` by itself for members that the page leaves out.

use serde_json::Value;

use crate::client::{Answer, request, send};
use crate::page::fenced;
use crate::tidegate::Tidegate;

const PAGE: &str = include_str!("../../../docs/reference/http.md");
const ID: &str = "5f0c…";

/// A question and its answer, each with a first line and a body.
fn examples() -> Vec<[(&'static str, &'static str); 2]> {
    let texts: Vec<_> = fenced(PAGE, "http").into_iter().map(|text| text.split_once('\n').unwrap()).collect();
    assert_eq!(texts.len() % 2, 0, "each question has its answer");
    texts.chunks(2).map(|pair| [pair[0], pair[1]]).collect()
}

async fn ask(tidegate: &Tidegate, (line, body): (&str, &str), id: &str) -> Answer {
    let (method, path) = line.split_once(' ').unwrap();
    let question = request(method, path, &[("content-type", "application/json")], body.replace(ID, id));
    send(tidegate.http, question).await
}

/// The body of an answer on the page as JSON, without what it leaves out.
fn told(body: &str, id: &str) -> Value {
    let whole = body.replace(ID, id).replace(", …", "").replace("[…]", "[]");
    serde_json::from_str(&whole).unwrap_or_else(|error| panic!("{error}: {whole}"))
}

/// Fails unless the real value says what the page does.
pub(crate) fn compare(page: &Value, real: &Value, context: &str) {
    match (page, real) {
        (Value::Object(page), Value::Object(real)) => {
            for (name, said) in page {
                let found = real.get(name).unwrap_or_else(|| panic!("there is no {name}: {context}"));
                // These say how long it takes until something.
                if name != "detail" || !said.to_string().contains("retry in") {
                    compare(said, found, context);
                }
            }
        }
        (Value::Array(page), Value::Array(real)) => {
            assert!(page.is_empty() || page.len() == real.len(), "{context}");
            page.iter().zip(real).for_each(|(said, found)| compare(said, found, context));
        }
        (Value::Number(_), found) => assert!(found.is_number(), "{context}"),
        (said, found) if said.as_str().is_some_and(|said| said.starts_with("urn:uuid:")) => {
            assert!(found.as_str().is_some_and(|found| found.starts_with("urn:uuid:")), "{context}");
        }
        _ => assert_eq!(page, real, "{context}"),
    }
}

#[tokio::test]
async fn every_example_of_the_page_is_answered_as_the_page_says() {
    let rules = fenced(PAGE, "yaml");
    let tidegate = Tidegate::with(rules[0]).await;
    let mut id = String::new();
    let examples = examples();
    assert!(examples.len() > 8, "the page has lost its examples");
    for [question, (status, body)] in examples {
        let answer = ask(&tidegate, question, &id).await;
        let context = format!("{question:?} is answered {answer:?}");
        assert_eq!(answer.status.to_string(), status, "{context}");
        let real = answer.json();
        if let Some(new) = real["id"].as_str() {
            id = new.to_owned();
        }
        compare(&told(body, &id), &real, &context);
    }
}
