//! What the doors that speak HTTP tell about themselves: an OpenAPI document each.

mod health;
mod admin;

use serde_json::Value;
use tidegate_frontend::http;
use tidegate_frontend::openapi::Document;
pub use tidegate_frontend::openapi::Token;

const HTTP: &str = "Decides, for every request to an API, whether it may pass. Refusals and mistakes are problem details (RFC 9457) that repeat \
    no value of the request; answers that tell a decision carry RateLimit headers.";

const ADMIN: &str = "Metrics, the rules in force, reading them again and switching them.";

/// Where the HTTP door answers its document.
pub(crate) const HTTP_PATH: &str = "/openapi.json";
/// Where the admin door does.
pub(crate) const ADMIN_PATH: &str = "/admin/openapi.json";

/// The document of the HTTP door.
pub fn http(token: Token) -> Value {
    let mut document = Document::new("Tidegate", HTTP, token);
    http::describe(&mut document);
    health::describe(&mut document, HTTP_PATH);
    document.add(health::healthcheck());
    document.finish()
}

/// The document of the admin door.
pub fn admin(token: Token) -> Value {
    let mut document = Document::new("Tidegate, administration", ADMIN, token);
    admin::describe(&mut document);
    health::describe(&mut document, ADMIN_PATH);
    document.finish()
}

/// Whether a door wants its token.
pub(crate) const fn token(is_set: bool) -> Token {
    if is_set { Token::Wanted } else { Token::Maybe }
}
