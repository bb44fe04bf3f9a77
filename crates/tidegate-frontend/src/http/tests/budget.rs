//! Bodies that are held at once: they have a bound together.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use http_body::Frame;
use tidegate_net::budget::FREE_BYTES;

use super::*;

/// A body that begins and never ends.
struct Endless(Option<Bytes>);

impl HttpBody for Endless {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.0.take() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None => Poll::Pending,
        }
    }
}

fn endless(bytes: usize) -> Request<Body> {
    let body = Endless(Some(Bytes::from(vec![b' '; bytes])));
    Request::post("/v1/check").body(Body::new(body)).unwrap()
}

/// A body of which so many bytes are not free.
const fn long(beyond: usize) -> usize {
    FREE_BYTES + beyond
}

/// The same with a question behind many spaces.
fn long_question(beyond: usize) -> String {
    let question = alice().to_string();
    format!("{}{question}", " ".repeat(long(beyond) - question.len()))
}

fn small_door() -> Door<Reference> {
    let settings =
        DoorSettings { max_body_bytes: long(2000), max_bodies_bytes: 1, ..DoorSettings::default() };
    door_to(Reference::new(), RULES, settings).0
}

#[tokio::test]
async fn a_long_body_without_room_is_503_until_one_that_takes_it_is_gone() {
    let door = small_door();
    let mut held: Vec<_> = (0..3).map(|_| Box::pin(send(&door, endless(long(2000))))).collect();
    for held in &mut held {
        assert!(poll_fn(|context| Poll::Ready(held.as_mut().poll(context).is_pending())).await);
    }
    assert_eq!((door.body_bytes(), door.bodies_refused()), (6000, 0));
    for path in ["/v1/check", "/v1/cancel", "/json"] {
        let back = post(&door, path, long_question(500)).await;
        assert_eq!(back.problem(503), "too many bodies are being read at once; retry in 1 s");
        assert_eq!(back.headers["retry-after"], "1");
    }
    assert_eq!((door.body_bytes(), door.bodies_refused()), (6000, 3));
    assert_eq!(post(&door, "/v1/check", alice()).await.status, 200, "whoever needs little is served");
    held.pop();
    assert_eq!(post(&door, "/v1/check", long_question(500)).await.status, 200);
    held.clear();
    assert_eq!(door.body_bytes(), 0);
}

#[tokio::test]
async fn what_was_read_is_given_back_whatever_came_of_it() {
    let door = small_door();
    for body in [long_question(500), "{".repeat(long(500)), " ".repeat(long(2001))] {
        post(&door, "/v1/check", body).await;
    }
    let mut broken = pin!(send(&door, endless(long(2001))));
    assert!(poll_fn(|context| Poll::Ready(broken.as_mut().poll(context).is_ready())).await, "413 at once");
    assert_eq!(door.body_bytes(), 0);
}

#[tokio::test]
async fn one_of_the_largest_bodies_always_fits() {
    let door = small_door();
    assert_eq!(post(&door, "/v1/check", long_question(2000)).await.status, 200);
}
