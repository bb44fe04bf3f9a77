//! An answer whose body is known as a whole.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use tidegate_wire::headers::HeaderLines;

/// An answer. The type of its body is not among its headers.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderLines,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
}

impl Reply {
    /// An answer that says nothing but its body.
    pub(super) fn new(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Self {
        Self { status, headers: HeaderLines::default(), content_type, body }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        self.headers.put_into(response.headers_mut());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        response
    }
}
