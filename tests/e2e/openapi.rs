//! What the doors say of themselves is true: the documents are the reviewed ones, their examples are answered as they say,
//! and schemathesis finds nothing.

mod documents;
mod examples;
mod schemathesis;

const RULES: &str = "
domain: api
rules:
  - { name: per-key, by: [api_key], limit: 5/min }
  - { name: exports, match: { path: /v1/exports }, by: [api_key], limit: 1 concurrent }
";
