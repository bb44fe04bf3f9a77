//! The layer around small services, in virtual time.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt;
use tidegate::tower::{Applied, RateLimit, RateLimitLayer, key};
use tidegate::{Limit, Limiter, ManualClock, Rate, Rule};
use tower_layer::Layer;
use tower_service::Service;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Answers 200 with two frames.
#[derive(Clone)]
struct Hello;

impl Service<Request<Body>> for Hello {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        std::future::ready(Ok(Response::new(Body::from("hello"))))
    }
}

/// Fails.
#[derive(Clone)]
struct Broken;

impl Service<Request<Body>> for Broken {
    type Response = Response<Body>;
    type Error = &'static str;
    type Future = std::future::Ready<Result<Response<Body>, &'static str>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        std::future::ready(Err("broken"))
    }
}

/// Answers with a body of five frames and then an error.
#[derive(Clone)]
struct Streaming;

struct Frames(u8);

impl axum::body::HttpBody for Frames {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0 += 1;
        Poll::Ready(Some(if self.0 <= 5 { Ok(Frame::data(Bytes::from("x"))) } else { Err("broken") }))
    }
}

impl Service<Request<Body>> for Streaming {
    type Response = Response<Frames>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<Frames>, Infallible>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        std::future::ready(Ok(Response::new(Frames(0))))
    }
}

fn rule(name: &str, limit: Result<Limit, tidegate::LimitError>) -> Rule {
    Rule::new(name, limit.unwrap()).unwrap()
}

fn log(amount: u64) -> Rule {
    rule("log", Limit::sliding_log(amount, Duration::from_secs(60)))
}

fn request(key: Option<&str>) -> Request<Body> {
    let mut request = Request::new(Body::empty());
    if let Some(key) = key {
        request.headers_mut().insert(API_KEY, key.parse().unwrap());
    }
    request
}

async fn statuses<C: tidegate::Clock>(service: &mut RateLimit<Hello, C>, keys: &[Option<&str>]) -> Vec<u16> {
    let mut statuses = Vec::new();
    for key in keys {
        statuses.push(service.call(request(*key)).await.unwrap().status().as_u16());
    }
    statuses
}

#[tokio::test]
async fn leaving_the_key_away_is_no_way_out() {
    let layer = RateLimitLayer::new(Limiter::new()).rule(log(1), key::header(API_KEY));
    let keys = [Some("a"), None, None, Some("a"), Some(""), Some("")];
    assert_eq!(statuses(&mut layer.layer(Hello), &keys).await, [200, 200, 429, 429, 200, 429]);
}

#[tokio::test]
async fn a_rule_that_needs_its_key_skips_requests_without_it() {
    let applied = Applied::new(log(1), key::header(API_KEY)).if_present();
    let layer = RateLimitLayer::new(Limiter::new()).apply(applied);
    assert_eq!(
        statuses(&mut layer.layer(Hello), &[None, None, Some("a"), Some("a")]).await,
        [200, 200, 200, 429]
    );
}

#[tokio::test]
async fn costs_are_taken_from_the_request() {
    let by_length = |head: &key::Head<'_>| head.headers.get(API_KEY).map_or(1, |value| value.len() as u64);
    let layer =
        RateLimitLayer::new(Limiter::new()).apply(Applied::new(log(5), key::everyone()).cost(by_length));
    assert_eq!(
        statuses(&mut layer.layer(Hello), &[Some("1234"), Some("12"), Some("1")]).await,
        [200, 429, 200]
    );
}

#[tokio::test]
async fn pairs_of_keys_are_counted_as_pairs() {
    let other = HeaderName::from_static("x-other");
    let layer = RateLimitLayer::new(Limiter::new())
        .rule(log(1), key::both(key::header(API_KEY), key::header(other.clone())));
    let mut service = layer.layer(Hello);
    let mut status = async |first: &str, second: &str| {
        let mut request = request(Some(first));
        request.headers_mut().insert(other.clone(), second.parse().unwrap());
        service.call(request).await.unwrap().status().as_u16()
    };
    assert_eq!([status("a", "bc").await, status("ab", "c").await, status("a", "bc").await], [200, 200, 429]);
    let halves = [request(Some("a")), request(Some("b")), request(None)];
    let mut seen = Vec::new();
    for half in halves {
        seen.push(service.call(half).await.unwrap().status().as_u16());
    }
    assert_eq!(seen, [200, 429, 429], "half a pair is no pair: they share one counter");
}

#[tokio::test]
async fn a_long_key_is_counted_like_any_other() {
    let layer = RateLimitLayer::new(Limiter::new()).rule(log(1), key::header(API_KEY));
    let mut service = layer.layer(Hello);
    let mut seen = Vec::new();
    for last in ["1", "2", "1"] {
        let long = "x".repeat(10_000) + last;
        seen.push(service.call(request(Some(&long))).await.unwrap().status().as_u16());
    }
    assert_eq!(seen, [200, 200, 429]);
}

#[tokio::test]
async fn more_rules_than_a_check_can_hold_fail_closed() {
    let mut layer = RateLimitLayer::new(Limiter::new());
    for n in 0..65 {
        layer = layer
            .rule(rule(&format!("r{n}"), Limit::sliding_log(1, Duration::from_secs(1))), key::everyone());
    }
    assert_eq!(statuses(&mut layer.layer(Hello), &[None]).await, [500]);
}

#[tokio::test]
async fn a_slot_is_held_until_the_body_has_ended() {
    let room = rule("room", Limit::concurrency(1, Duration::from_secs(60)));
    let mut service = RateLimitLayer::new(Limiter::new()).rule(room, key::everyone()).layer(Hello);
    let first = service.call(request(None)).await.unwrap();
    assert_eq!(first.headers()["ratelimit-policy"], r#""room";q=1;qu="concurrent-requests""#);
    assert_eq!(statuses(&mut service, &[None]).await, [429], "the body is still being sent");
    let body: Bytes = first.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "hello");
    assert_eq!(
        statuses(&mut service, &[None, None]).await,
        [200, 200],
        "dropped responses give their slots back"
    );
}

#[tokio::test]
async fn a_body_that_moves_keeps_its_slot_beyond_the_term() {
    let (clock, term) = (ManualClock::new(), Duration::from_secs(60));
    let room = rule("room", Limit::concurrency(1, term));
    let mut service = RateLimitLayer::new(Limiter::with_clock(clock.clone())).shed(room).layer(Streaming);
    let mut body = service.call(request(None)).await.unwrap().into_body();
    for _ in 0..4 {
        clock.advance(Duration::from_secs(45));
        assert!(body.frame().await.unwrap().is_ok());
    }
    assert_eq!(service.call(request(None)).await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    clock.advance(term);
    assert_eq!(
        service.call(request(None)).await.unwrap().status(),
        StatusCode::OK,
        "a body that stands still ends"
    );
}

#[tokio::test]
async fn a_body_that_fails_gives_the_slot_back() {
    let room = rule("room", Limit::concurrency(1, Duration::from_secs(60)));
    let mut service = RateLimitLayer::new(Limiter::new()).shed(room).layer(Streaming);
    let mut body = service.call(request(None)).await.unwrap().into_body();
    while body.frame().await.unwrap().is_ok() {}
    assert_eq!(service.call(request(None)).await.unwrap().status(), StatusCode::OK);
    drop(body);
}

#[tokio::test]
async fn grpc_of_any_flavour_is_answered_in_kind() {
    let mut service = RateLimitLayer::new(Limiter::new()).rule(log(1), key::everyone()).layer(Hello);
    let grpc_web = || {
        let mut request = request(None);
        request.headers_mut().insert("content-type", "application/grpc-web+proto".parse().unwrap());
        request
    };
    assert_eq!(service.call(grpc_web()).await.unwrap().status(), StatusCode::OK);
    let refused = service.call(grpc_web()).await.unwrap();
    assert_eq!(refused.status(), StatusCode::OK);
    assert_eq!(refused.headers()["content-type"], "application/grpc-web+proto");
    assert_eq!(refused.headers()["grpc-status"], "8");
}

#[tokio::test]
async fn a_service_that_fails_gives_the_slot_back() {
    let room = rule("room", Limit::concurrency(1, Duration::from_secs(60)));
    let mut service = RateLimitLayer::new(Limiter::new()).shed(room).layer(Broken);
    for _ in 0..3 {
        assert_eq!(service.call(request(None)).await.unwrap_err(), "broken");
    }
}

#[tokio::test]
async fn a_request_that_was_never_polled_gives_its_slot_back() {
    let room = rule("room", Limit::concurrency(1, Duration::from_secs(60)));
    let mut service = RateLimitLayer::new(Limiter::new()).shed(room).layer(Hello);
    let unpolled = service.call(request(None));
    assert_eq!(statuses(&mut service, &[None]).await, [503]);
    drop(unpolled);
    assert_eq!(statuses(&mut service, &[None]).await, [200]);
}

#[tokio::test(start_paused = true)]
async fn a_shaping_rule_holds_requests_back_and_then_refuses() {
    let shape = Limit::leaky_bucket_shaping(3, Rate::new(10, Duration::from_secs(1)).unwrap());
    let clock = ManualClock::new();
    let mut service = RateLimitLayer::new(Limiter::with_clock(clock))
        .rule(rule("shape", shape), key::everyone())
        .layer(Hello);
    let started = tokio::time::Instant::now();
    let (first, second, third) =
        (service.call(request(None)), service.call(request(None)), service.call(request(None)));
    assert_eq!(service.call(request(None)).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    for (call, delay_ms) in [(first, 0), (second, 100), (third, 200)] {
        assert_eq!(call.await.unwrap().status(), StatusCode::OK);
        assert_eq!(started.elapsed().as_millis(), delay_ms);
    }
}

#[tokio::test]
async fn what_the_service_says_of_its_own_limits_stays() {
    #[derive(Clone)]
    struct Limited;
    impl Service<Request<Body>> for Limited {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = std::future::Ready<Result<Response<Body>, Infallible>>;
        fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }
        fn call(&mut self, _: Request<Body>) -> Self::Future {
            let response = Response::builder().header("ratelimit", r#""own";r=1"#).body(Body::empty());
            std::future::ready(Ok(response.unwrap()))
        }
    }
    let mut service = RateLimitLayer::new(Limiter::new()).rule(log(5), key::everyone()).layer(Limited);
    let response = service.call(request(None)).await.unwrap();
    let told: Vec<_> = response.headers().get_all("ratelimit").iter().collect();
    assert_eq!(told, [r#""own";r=1"#, r#""log";r=4;t=60"#]);
}

#[tokio::test]
async fn readiness_is_the_inner_services_own() {
    let mut service = RateLimitLayer::new(Limiter::new()).layer(Hello);
    let mut ready = pin!(poll_fn(|context| service.poll_ready(context)));
    let polled = poll_fn(|context| Poll::Ready(ready.as_mut().poll(context))).await;
    assert!(polled.is_ready());
}
