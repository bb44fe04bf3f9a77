//! The rules in force as JSON: their limits in numbers and in short, where each was written, and what was found in the
//! files. Identities are left out: they may name secrets.

mod told;

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use tidegate_rules::Domain;

use super::Admin;
use crate::http::json_body;
use told::{Counted, DomainTold, milliseconds};

pub(crate) use told::{Rules, Status, Summary};

/// `GET /admin/v1/rules`.
pub(super) async fn rules(State(admin): State<Arc<Admin>>) -> Response {
    let snapshot = admin.metrics.engine.snapshot();
    let mut status = Status::of(&admin.metrics.status.rules());
    status.version = snapshot.version();
    let domains = snapshot.domains().map(|domain| DomainTold::of(domain)).collect();
    json_body(StatusCode::OK, &Rules { status, domains })
}

/// `GET /admin/v1/snapshot`.
pub(super) async fn snapshot(State(admin): State<Arc<Admin>>) -> Response {
    let snapshot = admin.metrics.engine.snapshot();
    let status = admin.metrics.status.rules();
    let counted = |domain: &Domain| Counted { name: domain.name.to_string(), rules: domain.rules.len() };
    let body = Summary {
        version: snapshot.version(),
        installed_at_ms: milliseconds(status.installed_at),
        hash: status.hash,
        rules: snapshot.rules(),
        domains: snapshot.domains().map(|domain| counted(domain)).collect(),
    };
    json_body(StatusCode::OK, &body)
}
