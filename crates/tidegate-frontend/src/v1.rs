//! A service of our own (`tidegate.v1.Limits`) over gRPC, with all short ways: the HTTP API in messages, with the same words.

mod decode;
mod encode;
mod paid;
#[cfg(test)]
mod tests;

use tidegate_core::Timestamp;
use tidegate_engine::{Check, Decision, Malformed, Settled};
use tidegate_store::Store;
use tonic::metadata::MetadataMap;
use tonic::{Extensions, Request, Response, Status};

use crate::door::question::{self, Ask, Asked, Question};
use crate::door::{Commit, Door, milliseconds};
use tidegate_wire::timeout;
use tidegate_wire::trust::Caller;

/// Messages and the service, as its description has them: `make generate` writes them anew when that has changed.
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    missing_docs,
    unreachable_pub,
    reason = "it is generated; the description says what all of it is"
)]
pub mod proto {
    include!("v1/generated.rs");
}

use proto::limits_server::Limits;

pub use paid::Paid;

/// The name of the service.
pub use proto::limits_server::SERVICE_NAME;

/// The descriptors of the service, as `tonic-reflection` takes them.
pub fn file_descriptor_set() -> &'static [u8] {
    include_bytes!("v1/limits.bin")
}

/// Answers through a door.
#[derive(Debug)]
struct Service<S> {
    door: Door<S>,
}

/// The service. Its messages are bounded by the door's largest body, and all that are held at once by what it may hold.
pub fn service<S: Store>(door: Door<S>) -> Paid<S> {
    Paid::new(door)
}

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl<S: Store> Limits for Service<S> {
    async fn check(&self, request: Request<proto::CheckRequest>) -> Answer<proto::Decision> {
        let (metadata, extensions, message) = request.into_parts();
        self.asked((&metadata, &extensions), Some(message), Ask::Check).await
    }

    async fn check_many(
        &self,
        request: Request<proto::CheckManyRequest>,
    ) -> Answer<proto::CheckManyResponse> {
        let (metadata, extensions, message) = request.into_parts();
        let (count, most) = (message.checks.len(), self.door.settings().max_batch);
        if count > most {
            self.door.note_malformed();
            let detail = format!("the batch has {count} checks and the most is {most}; send several");
            return Err(Status::invalid_argument(detail));
        }
        let deadline = timeout::grpc(metadata.as_ref());
        let (ask, patience, caller) =
            (Ask::Check, self.door.patience(deadline), self.caller(&metadata, &extensions));
        let mut results = Vec::with_capacity(count);
        for check in message.checks {
            let decided = self.decide(decode::question(check), Asked { ask, patience, caller }).await;
            results.push(encode::result(decided));
        }
        Ok(Response::new(proto::CheckManyResponse { results }))
    }

    async fn peek(&self, request: Request<proto::CheckRequest>) -> Answer<proto::Decision> {
        let (metadata, extensions, message) = request.into_parts();
        self.asked((&metadata, &extensions), Some(message), Ask::Peek).await
    }

    async fn reserve(&self, request: Request<proto::ReserveRequest>) -> Answer<proto::Decision> {
        let (metadata, extensions, message) = request.into_parts();
        let hold = question::hold(message.hold_ms, message.give_back_at_end);
        let hold = hold.map_err(|wrong| self.malformed(wrong))?;
        self.asked((&metadata, &extensions), message.check, Ask::Reserve(hold)).await
    }

    async fn refund(&self, request: Request<proto::RefundRequest>) -> Answer<proto::Decision> {
        let (metadata, extensions, message) = request.into_parts();
        let charged_at = message.charged_at_ms.map(|ms| Timestamp::from_micros(ms.saturating_mul(1000)));
        self.asked((&metadata, &extensions), message.check, Ask::Refund(charged_at)).await
    }

    async fn commit(&self, request: Request<proto::CommitRequest>) -> Answer<proto::CommitResponse> {
        let (metadata, extensions, proto::CommitRequest { id, cost, attributes }) = request.into_parts();
        let id = question::ticket(&id).map_err(|wrong| self.malformed(wrong))?;
        let commit = Commit::new(id, cost, attributes.into_iter().collect());
        let mut commit = commit.map_err(|wrong| self.malformed(wrong))?;
        commit.keep_what_counts(&self.door.settings().trust, self.caller(&metadata, &extensions));
        let came = self.door.commit_sent(&commit).await;
        settled(&came.map_err(|malformed| refused(&malformed))?, proto::CommitResponse {})
    }

    async fn cancel(&self, request: Request<proto::CancelRequest>) -> Answer<proto::CancelResponse> {
        let id = question::ticket(&request.into_inner().id).map_err(|wrong| self.malformed(wrong))?;
        settled(&self.door.cancel(id).await, proto::CancelResponse {})
    }

    async fn release(&self, request: Request<proto::ReleaseRequest>) -> Answer<proto::ReleaseResponse> {
        let id = question::ticket(&request.into_inner().id).map_err(|wrong| self.malformed(wrong))?;
        settled(&self.door.release(id).await, proto::ReleaseResponse {})
    }

    async fn renew(&self, request: Request<proto::RenewRequest>) -> Answer<proto::RenewResponse> {
        let id = question::ticket(&request.into_inner().id).map_err(|wrong| self.malformed(wrong))?;
        match self.door.renew(id).await {
            Ok(Some(us)) => Ok(Response::new(proto::RenewResponse { ends_after_ms: milliseconds(us) })),
            Ok(None) => Err(gone()),
            Err(_) => Err(busy()),
        }
    }
}

impl<S: Store> Service<S> {
    /// The answer to one check; the engine keeps to the caller's deadline.
    async fn asked(
        &self,
        (metadata, extensions): (&MetadataMap, &Extensions),
        check: Option<proto::CheckRequest>,
        ask: Ask,
    ) -> Answer<proto::Decision> {
        let check = check.ok_or_else(|| self.malformed("`check` is missing".to_owned()))?;
        let deadline = timeout::grpc(metadata.as_ref());
        let asked =
            Asked { ask, patience: self.door.patience(deadline), caller: self.caller(metadata, extensions) };
        self.decide(decode::question(check), asked).await.map(Response::new)
    }

    async fn decide(&self, question: Question, asked: Asked) -> Result<proto::Decision, Status> {
        let door = &self.door;
        let told = |check: &Check<'_>, decided: Result<Decision, Malformed>| match decided {
            Ok(decision) if asked.ask.came_to_nothing(&decision) => Err(busy()),
            Ok(decision) => Ok(encode::decision(door, (check, &decision), door.tell(check, &decision))),
            Err(malformed) => Err(refused(&malformed)),
        };
        door.ask(question, asked, told).await
    }

    fn caller(&self, metadata: &MetadataMap, extensions: &Extensions) -> Caller {
        self.door.settings().trust.caller(extensions.get(), metadata.as_ref())
    }

    /// What cannot even be asked.
    fn malformed(&self, wrong: String) -> Status {
        self.door.note_malformed();
        Status::invalid_argument(wrong)
    }
}

fn settled<T>(settled: &Settled, done: T) -> Answer<T> {
    match settled {
        Settled::Done => Ok(Response::new(done)),
        Settled::Gone => Err(gone()),
        Settled::Failed(_) => Err(busy()),
    }
}

fn gone() -> Status {
    Status::not_found("there is nothing under that id: settled before, ended, or never there")
}

fn busy() -> Status {
    Status::unavailable("it could not be settled; retry in 1 s")
}

fn refused(malformed: &Malformed) -> Status {
    match malformed {
        Malformed::IdempotencyConflict => Status::failed_precondition(malformed.to_string()),
        _ => Status::invalid_argument(malformed.to_string()),
    }
}
