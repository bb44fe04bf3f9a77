//! The routes that settle what an earlier decision holds, by its id.

pub(super) mod schema;

use axum::extract::{Request, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use tidegate_core::Ticket;
use tidegate_engine::Settled;
use tidegate_store::Store;

use super::answer::{json_reply, misunderstood};
use super::body::{self, ContentType};
use super::question::attributes;
use super::reply::Reply;
use crate::door::{Commit, Door, milliseconds, question};
use tidegate_wire::json::{FieldError, Fields};
use tidegate_wire::problem::Problem;

/// It is settled.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Settled")]
pub(super) struct Done {
    /// Always true: what is not settled is a problem.
    settled: bool,
}

/// The slots last longer.
#[derive(JsonSchema, Serialize)]
pub(super) struct Renewed {
    /// Always true: what is not renewed is a problem.
    settled: bool,
    /// How long they last from now on.
    ends_after_ms: u64,
}

pub(super) async fn commit<S: Store>(State(door): State<Door<S>>, request: Request) -> Reply {
    let caller = door.settings().trust.caller(request.extensions().get(), request.headers());
    let mut commit = match read_commit_of(&door, request).await {
        Ok(commit) => commit,
        Err(problem) => return body::refuse(&door, &problem),
    };
    commit.keep_what_counts(&door.settings().trust, caller);
    match door.commit_sent(&commit).await {
        Ok(settled) => respond(&settled),
        Err(malformed) => body::respond(&misunderstood(&malformed)),
    }
}

pub(super) async fn cancel<S: Store>(State(door): State<Door<S>>, request: Request) -> Reply {
    match id(&door, request).await {
        Ok(id) => respond(&door.cancel(id).await),
        Err(problem) => body::refuse(&door, &problem),
    }
}

pub(super) async fn release<S: Store>(State(door): State<Door<S>>, request: Request) -> Reply {
    match id(&door, request).await {
        Ok(id) => respond(&door.release(id).await),
        Err(problem) => body::refuse(&door, &problem),
    }
}

/// Says also how long the slots last now, so that the holder knows when to come again.
pub(super) async fn renew<S: Store>(State(door): State<Door<S>>, request: Request) -> Reply {
    let id = match id(&door, request).await {
        Ok(id) => id,
        Err(problem) => return body::refuse(&door, &problem),
    };
    match door.renew(id).await {
        Ok(Some(us)) => {
            json_reply(StatusCode::OK, &Renewed { settled: true, ends_after_ms: milliseconds(us) })
        }
        Ok(None) => respond(&Settled::Gone),
        Err(error) => respond(&Settled::Failed(error.to_string())),
    }
}

async fn id<S: Store>(door: &Door<S>, request: Request) -> Result<Ticket, Problem> {
    Ok(read_id(fields(door, request).await?)?)
}

async fn read_commit_of<S: Store>(door: &Door<S>, request: Request) -> Result<Commit, Problem> {
    Ok(read_commit(fields(door, request).await?)?)
}

pub(super) fn read_id(mut fields: Fields) -> Result<Ticket, FieldError> {
    let id = ticket(&mut fields)?;
    fields.finish().map(|()| id)
}

pub(super) fn read_commit(mut fields: Fields) -> Result<Commit, FieldError> {
    let id = ticket(&mut fields)?;
    let cost = fields.count(&["cost"])?;
    let attributes = attributes(&mut fields)?;
    fields.finish()?;
    Commit::new(id, cost, attributes).map_err(FieldError::new)
}

async fn fields<S: Store>(door: &Door<S>, request: Request) -> Result<Fields, Problem> {
    let (value, _share) = body::read(door, request, ContentType::Json).await?;
    Ok(Fields::of("the body", value)?)
}

fn ticket(fields: &mut Fields) -> Result<Ticket, FieldError> {
    let digits = fields.text(&["id"])?.ok_or_else(|| fields.missing("id"))?;
    question::ticket(&digits).map_err(FieldError::new)
}

pub(super) fn respond(settled: &Settled) -> Reply {
    match settled {
        Settled::Done => json_reply(StatusCode::OK, &Done { settled: true }),
        Settled::Gone => body::respond(&Problem::of_request(
            StatusCode::GONE,
            "there is nothing under that id: settled before, ended, or never there",
        )),
        Settled::Failed(_) => body::respond(&body::busy("it could not be settled; retry in 1 s")),
    }
}
